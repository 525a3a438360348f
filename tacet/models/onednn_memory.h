// Memory of the values of an oneDNN program: offsets into a buffer that is allocated when it runs.
#ifndef TACET_MODELS_ONEDNN_MEMORY_H_
#define TACET_MODELS_ONEDNN_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <dnnl.hpp>

namespace tacet::models {

// A buffer that programs of all batch sizes share: only one runs at a time, and nothing but the
// parameters lives from one run to the next.
class Arena {
 public:
  ~Arena();
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Makes the buffer at least so large; its address may change.
  void Reserve(size_t bytes);
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

// Places of a program's values in the arena, and its views of the caller's input.
class ProgramMemory {
 public:
  // Both must outlive it.
  ProgramMemory(const dnnl::engine& engine, Arena& arena) : engine_(engine), arena_(arena) {}

  // At `offset` of the arena, by default behind all others.
  dnnl::memory Place(const dnnl::memory::desc& desc, std::optional<size_t> offset = std::nullopt);
  size_t OffsetOf(const dnnl::memory& placed) const;
  // Shared by all primitives.
  dnnl::memory Scratch(const dnnl::memory::desc& desc);
  // The caller's input from float `offset` on.
  dnnl::memory Input(const dnnl::memory::desc& desc, size_t offset);

  // Before each run: gives everything its address.
  void Bind(float* input);

 private:
  struct Placement {
    dnnl::memory memory;
    size_t offset = 0;
    bool scratch = false;
  };

  const dnnl::engine& engine_;
  Arena& arena_;
  std::vector<Placement> placements_;
  size_t arena_bytes_ = 0;
  size_t scratch_bytes_ = 0;
  std::byte* bound_to_ = nullptr;
  std::vector<std::pair<dnnl::memory, size_t>> inputs_;  // with their offset in floats
  float* input_bound_to_ = nullptr;
};

}  // namespace tacet::models

#endif  // TACET_MODELS_ONEDNN_MEMORY_H_
