//===- Json.cpp - reading JSON that may be hostile ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Json.h"

#include <cmath>
#include <set>

namespace attnrt {

nlohmann::json parseJson(std::string_view text, const std::string &what) {
  constexpr int deepest = 16;             // more than any file of a bundle has
  constexpr size_t mostValues = 8u << 20; // likewise: what they take is 16 bytes and more each
  size_t values = 0;
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> keys; // of the objects that are open
  const auto watch = [&](int depth, Event event, const nlohmann::json &parsed) {
    values += event == Event::value || event == Event::object_start || event == Event::array_start;
    check(values <= mostValues, ATTNRT_BAD_BUNDLE, what, ": has more than ", mostValues, " values");
    check(depth <= deepest, ATTNRT_BAD_BUNDLE, what, ": is nested more than ", deepest, " deep");
    if (event == Event::object_start)
      keys.emplace_back();
    else if (event == Event::object_end)
      keys.pop_back();
    else if (event == Event::key)
      check(keys.back().insert(parsed.get_ref<const std::string &>()).second, ATTNRT_BAD_BUNDLE, what,
            ": has the key ", parsed.dump(), " twice in one object");
    return true;
  };
  try {
    return nlohmann::json::parse(text.begin(), text.end(), watch);
  } catch (
      const nlohmann::json::parse_error &error) { // its text repeats what was read, which may be anything
    fail(ATTNRT_BAD_BUNDLE, what, ": is not JSON: the first mistake is at byte ", error.byte);
  } catch (const nlohmann::json::out_of_range &) {
    fail(ATTNRT_BAD_BUNDLE, what, ": has a number that no double holds");
  } catch (const nlohmann::json::exception &) {
    fail(ATTNRT_BAD_BUNDLE, what, ": holds text that is not UTF-8");
  }
}

JsonReader JsonReader::at(const char *key) const {
  if (!value.is_object())
    reject("must be an object");
  const auto member = value.find(key);
  if (member == value.end())
    reject("'", key, "' is missing");
  return {*member, path + "." + key};
}

std::vector<JsonReader> JsonReader::elements() const {
  if (!value.is_array())
    reject("must be a list");
  std::vector<JsonReader> all;
  all.reserve(value.size());
  for (size_t i = 0; i < value.size(); ++i)
    all.emplace_back(value[i], path + "[" + std::to_string(i) + "]");
  return all;
}

std::string JsonReader::string() const {
  if (!value.is_string())
    reject("must be a string");
  const auto &text = value.get_ref<const std::string &>();
  if (text.find('\0') != std::string::npos)
    reject("has a NUL in it");
  return text;
}

bool JsonReader::boolean() const {
  if (!value.is_boolean())
    reject("must be true or false");
  return value.get<bool>();
}

double JsonReader::number() const {
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    reject("must be a number");
  return value.get<double>();
}

int64_t JsonReader::integer(int64_t low, int64_t high) const {
  const bool fits = value.is_number_unsigned() ? value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)
                                               : value.is_number_integer();
  if (!fits || value.get<int64_t>() < low || value.get<int64_t>() > high)
    reject("must be a whole number from ", low, " to ", high);
  return value.get<int64_t>();
}

std::optional<int64_t> JsonReader::integerOrNull(int64_t low, int64_t high) const {
  if (isNull())
    return std::nullopt;
  return integer(low, high);
}

std::string JsonReader::hash() const {
  std::string digits = string();
  if (digits.size() != 32 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    reject("must be 32 hexadecimal digits");
  return digits;
}

std::string JsonReader::fileName() const {
  std::string name = string();
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    reject("must be the name of a file in the bundle");
  return name;
}

} // namespace attnrt
