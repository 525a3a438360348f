// Descriptions of oneDNN's primitives, and of its memory, in one form for oneDNN 2 and 3.
#ifndef TACET_MODELS_ONEDNN_VERSIONS_H_
#define TACET_MODELS_ONEDNN_VERSIONS_H_

#include <dnnl.hpp>

namespace tacet::models {

// The constants of all descriptions of a program.
struct OnednnContext {
  const dnnl::engine& engine;
  dnnl::primitive_attr attributes;
};

#if DNNL_VERSION_MAJOR >= 3

inline dnnl::memory::dims DimsOf(const dnnl::memory::desc& desc) { return desc.get_dims(); }

template <typename Primitive, typename... Arguments>
typename Primitive::primitive_desc ForwardDesc(const OnednnContext& context,
                                               const Arguments&... arguments) {
  return typename Primitive::primitive_desc(context.engine, arguments..., context.attributes);
}

// `forward` is the description of the forward primitive.
template <typename Primitive, typename Forward, typename... Arguments>
typename Primitive::primitive_desc BackwardDesc(const OnednnContext& context,
                                                const Forward& forward,
                                                const Arguments&... arguments) {
  return
      typename Primitive::primitive_desc(context.engine, arguments..., forward, context.attributes);
}

// A function of single values, in place.
inline dnnl::eltwise_forward::primitive_desc InPlaceDesc(const OnednnContext& context,
                                                         dnnl::prop_kind kind,
                                                         dnnl::algorithm algorithm,
                                                         const dnnl::memory::desc& values) {
  return ForwardDesc<dnnl::eltwise_forward>(context, kind, algorithm, values, values, 0.0f, 0.0f);
}

inline dnnl::eltwise_backward::primitive_desc InPlaceBackwardDesc(
    const OnednnContext& context, const dnnl::eltwise_forward::primitive_desc& forward,
    dnnl::algorithm algorithm, const dnnl::memory::desc& values) {
  return BackwardDesc<dnnl::eltwise_backward>(context, forward, algorithm, values, values, values,
                                              0.0f, 0.0f);
}

#else

inline dnnl::memory::dims DimsOf(const dnnl::memory::desc& desc) { return desc.dims(); }

template <typename Primitive, typename... Arguments>
typename Primitive::primitive_desc ForwardDesc(const OnednnContext& context,
                                               const Arguments&... arguments) {
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...),
                                            context.attributes, context.engine);
}

// `forward` is the description of the forward primitive.
template <typename Primitive, typename Forward, typename... Arguments>
typename Primitive::primitive_desc BackwardDesc(const OnednnContext& context,
                                                const Forward& forward,
                                                const Arguments&... arguments) {
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...),
                                            context.attributes, context.engine, forward);
}

// A function of single values, in place.
inline dnnl::eltwise_forward::primitive_desc InPlaceDesc(const OnednnContext& context,
                                                         dnnl::prop_kind kind,
                                                         dnnl::algorithm algorithm,
                                                         const dnnl::memory::desc& values) {
  return ForwardDesc<dnnl::eltwise_forward>(context, kind, algorithm, values, 0.0f, 0.0f);
}

inline dnnl::eltwise_backward::primitive_desc InPlaceBackwardDesc(
    const OnednnContext& context, const dnnl::eltwise_forward::primitive_desc& forward,
    dnnl::algorithm algorithm, const dnnl::memory::desc& values) {
  return BackwardDesc<dnnl::eltwise_backward>(context, forward, algorithm, values, values, 0.0f,
                                              0.0f);
}

#endif

}  // namespace tacet::models

#endif  // TACET_MODELS_ONEDNN_VERSIONS_H_
