//===- PieceFile.h - files of the SentencePiece library ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_PIECEFILE_H
#define ATTNRT_SRC_PIECEFILE_H

#include <sentencepiece_processor.h>
#include <string>

namespace attnrt {

/// Loads the SentencePiece model `content`, which was read from `path`; fails where it is none, or cut short.
void loadPieces(const std::string &path, const std::string &content,
                sentencepiece::SentencePieceProcessor &processor);

} // namespace attnrt

#endif // ATTNRT_SRC_PIECEFILE_H
