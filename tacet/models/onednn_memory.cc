#include "tacet/models/onednn_memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace tacet::models {
namespace {

constexpr size_t kAlignment = 4096;

size_t RoundUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Arena::~Arena() { std::free(data_); }

void Arena::Reserve(size_t bytes) {
  if (bytes <= bytes_) return;
  std::free(data_);
  bytes_ = 0;
  data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, RoundUp(bytes)));
  if (data_ == nullptr) throw std::bad_alloc();
  bytes_ = RoundUp(bytes);
}

dnnl::memory ProgramMemory::Place(const dnnl::memory::desc& desc, std::optional<size_t> offset) {
  dnnl::memory memory(desc, engine_, DNNL_MEMORY_NONE);
  placements_.push_back({memory, offset.value_or(arena_bytes_), false});
  if (!offset.has_value()) arena_bytes_ += RoundUp(desc.get_size());
  return memory;
}

size_t ProgramMemory::OffsetOf(const dnnl::memory& placed) const {
  return std::ranges::find_if(
             placements_,
             [&](const Placement& placement) { return placement.memory.get() == placed.get(); })
      ->offset;
}

dnnl::memory ProgramMemory::Scratch(const dnnl::memory::desc& desc) {
  dnnl::memory scratch(desc, engine_, DNNL_MEMORY_NONE);
  placements_.push_back({scratch, 0, true});
  scratch_bytes_ = std::max(scratch_bytes_, desc.get_size());
  return scratch;
}

dnnl::memory ProgramMemory::Input(const dnnl::memory::desc& desc, size_t offset) {
  return inputs_.emplace_back(dnnl::memory(desc, engine_, DNNL_MEMORY_NONE), offset).first;
}

void ProgramMemory::Bind(float* input) {
  arena_.Reserve(arena_bytes_ + scratch_bytes_);
  if (bound_to_ != arena_.data()) {
    bound_to_ = arena_.data();
    for (Placement& placement : placements_) {
      placement.memory.set_data_handle(bound_to_ +
                                       (placement.scratch ? arena_bytes_ : placement.offset));
    }
  }
  if (input_bound_to_ != input) {
    for (auto& [slice, offset] : inputs_) slice.set_data_handle(input + offset);
    input_bound_to_ = input;
  }
}

}  // namespace tacet::models
