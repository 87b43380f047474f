// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tarn/kokkos.hpp: Kokkos Views in pools. Kokkos 3.4 and newer, C++17.
//
//     #include <tarn/kokkos.hpp>
//
//     using Space = tarn::PoolSpace<Kokkos::CudaSpace>;
//     Kokkos::View<double *, Space> field("field", 1000);                        // the process-wide pool
//
//     tarn::pool pool(options);                                                  // or a pool of your own
//     Kokkos::View<double *, Space> other(Kokkos::view_alloc(Space(pool), "other"), 1000);
//
// PoolSpace<Base> is a memory space beside Base, with the same kind of memory, execution space, mirrors and copies. Views of
// both are assigned to each other. Bases are HostSpace, CudaSpace, CudaUVMSpace, CudaHostPinnedSpace and those of HIP; others
// need a specialisation of kokkos_space. Labels reach Kokkos Tools and tarn's statistics. This header uses names of
// Kokkos::Impl, as each memory space outside Kokkos must.
//
// Order. Kokkos tells an allocation which execution space instance it is for, if the program names one. It does not tell the
// end of an allocation which instance used the memory last. So the space decides:
//
//     Space(), Space(pool)        The memory is handed out again only after all work that was submitted to the device before
//                                 the end, on any instance, as with cudaFree. The host goes on, where the vendor can record
//                                 such an event. This is TARN_STREAM_ANY of tarn/tarn.h.
//     Space(pool, instance)       The memory is handed out again in the order of that instance: to itself at once, to another
//     Space(instance)             one after a wait on the device. If another instance used the memory last, the program first
//                                 fences that one, or lets this one wait for it. Nothing reports that it was forgotten:
//                                 contents are wrong.
//
//  - An allocation that names an instance, by view_alloc(instance, ...), is for use on that instance. Without a name it is
//    for use on any; in a space of the default instance on that one. A View without a name may be used on any in both cases,
//    since Kokkos waits for the default instance while it makes the View.
//  - Pinned and managed memory is for use on any instance, whatever is named: the host writes the head of the allocation at
//    once.
//  - Host memory is used by host execution spaces alone. Each end fences Kokkos before, as that of HostSpace does.
//  - Before the stream of an instance ends, call tarn::retire(instance), or use pools with identifies_streams. A space holds
//    its instance until the last View has ended.
//
// Errors.
//  - Memory is short: Kokkos's own exception, with the pool's sentence in what(). A View throws std::runtime_error; allocate
//    throws Kokkos::Experimental::RawMemoryAllocationFailure before Kokkos 4.4, then std::runtime_error, too.
//  - A pool of another kind of memory, an instance of another device, or a tarn that was built for another vendor:
//    tarn::error.
//  - An allocation that ends after Kokkos::finalize: a message, and the program aborts. The end of a pool with live Views is
//    refused, and so is the end of a View whose pool was destroyed by force: see "Exceptions" in tarn/pool.hpp.
//
// Threads: those of Kokkos. Views of one pool may be made and ended by several threads.
// Cost of an allocation and its end beyond Kokkos's record, its fence, and tarn's calls with a label: 13 to 16 ns with Kokkos
// 3.4, 3 ns with a version after 4.6.
#ifndef TARN_KOKKOS_HPP
#define TARN_KOKKOS_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <Kokkos_Core.hpp>
// The definitions that a memory space outside Kokkos needs. Kokkos lets them in by this name alone.
#ifndef KOKKOS_IMPL_PUBLIC_INCLUDE
#define KOKKOS_IMPL_PUBLIC_INCLUDE
#define TARN_KOKKOS_PUBLIC_INCLUDE
#endif
#if KOKKOS_VERSION < 40300
#include <impl/Kokkos_MemorySpace.hpp>
#endif
#include <impl/Kokkos_SharedAlloc_timpl.hpp>
#ifdef TARN_KOKKOS_PUBLIC_INCLUDE
#undef KOKKOS_IMPL_PUBLIC_INCLUDE
#undef TARN_KOKKOS_PUBLIC_INCLUDE
#endif

#include "tarn/pool.hpp"

namespace tarn
{

template <class Base> class PoolSpace;

// --------------------------------------------------------------------- memory spaces and instances

// The facts about a memory space of Kokkos. A program may specialise it for a space that is not here.
//     kind         of its memory
//     name         of PoolSpace over it, for Kokkos Tools and messages
//     instance     the execution space whose instances have streams; void: host execution spaces alone use the memory
template <class Base> struct kokkos_space;

template <> struct kokkos_space<Kokkos::HostSpace> {
    static constexpr tarn_memory_kind kind = TARN_MEMORY_KIND_HOST;
    static constexpr const char *name = "TarnHost";
    using instance = void;
};

// The stream and the device of an execution space instance. Those of host execution spaces have neither.
template <class Instance> struct kokkos_instance {
    static tarn_stream stream(const Instance &)
    {
        return nullptr;
    }

    static int device(const Instance &)
    {
        return TARN_DEVICE_CURRENT;
    }
};

#ifdef KOKKOS_ENABLE_CUDA
template <> struct kokkos_space<Kokkos::CudaSpace> {
    static constexpr tarn_memory_kind kind =
        Kokkos::SpaceAccessibility<Kokkos::HostSpace, Kokkos::CudaSpace>::accessible
            ? TARN_MEMORY_KIND_SHARED
            : TARN_MEMORY_KIND_DEVICE;
    static constexpr const char *name = "TarnCuda";
    using instance = Kokkos::Cuda;
};

template <> struct kokkos_space<Kokkos::CudaUVMSpace> {
    static constexpr tarn_memory_kind kind = TARN_MEMORY_KIND_SHARED;
    static constexpr const char *name = "TarnCudaUVM";
    using instance = Kokkos::Cuda;
};

template <> struct kokkos_space<Kokkos::CudaHostPinnedSpace> {
    static constexpr tarn_memory_kind kind = TARN_MEMORY_KIND_PINNED;
    static constexpr const char *name = "TarnCudaHostPinned";
    using instance = Kokkos::Cuda;
};

template <> struct kokkos_instance<Kokkos::Cuda> {
    static tarn_stream stream(const Kokkos::Cuda &instance)
    {
        return instance.cuda_stream();
    }

    static int device(const Kokkos::Cuda &instance)
    {
        return instance.cuda_device();
    }
};
#endif

#ifdef KOKKOS_ENABLE_HIP
#if KOKKOS_VERSION >= 40000
namespace kokkos_hip = Kokkos;
#else
namespace kokkos_hip = Kokkos::Experimental;
#endif

template <> struct kokkos_space<kokkos_hip::HIPSpace> {
    static constexpr tarn_memory_kind kind =
        Kokkos::SpaceAccessibility<Kokkos::HostSpace, kokkos_hip::HIPSpace>::accessible
            ? TARN_MEMORY_KIND_SHARED
            : TARN_MEMORY_KIND_DEVICE;
    static constexpr const char *name = "TarnHIP";
    using instance = kokkos_hip::HIP;
};

template <> struct kokkos_space<kokkos_hip::HIPHostPinnedSpace> {
    static constexpr tarn_memory_kind kind = TARN_MEMORY_KIND_PINNED;
    static constexpr const char *name = "TarnHIPHostPinned";
    using instance = kokkos_hip::HIP;
};

#if KOKKOS_VERSION >= 30600
template <> struct kokkos_space<kokkos_hip::HIPManagedSpace> {
    static constexpr tarn_memory_kind kind = TARN_MEMORY_KIND_SHARED;
    static constexpr const char *name = "TarnHIPManaged";
    using instance = kokkos_hip::HIP;
};
#endif

template <> struct kokkos_instance<kokkos_hip::HIP> {
    static tarn_stream stream(const kokkos_hip::HIP &instance)
    {
        return instance.hip_stream();
    }

    static int device(const kokkos_hip::HIP &instance)
    {
        return instance.hip_device();
    }
};
#endif

// Tells all pools that the stream of an instance is about to end, as tarn_stream_retire does. It has ended for them when
// the call returns. Instances of host execution spaces are allowed: nothing happens.
template <class Instance> void retire(const Instance &instance)
{
    tarn_stream stream = kokkos_instance<Instance>::stream(instance);
    if (stream) check(tarn_stream_retire(stream));
}

// ------------------------------------------------------------------------------------- failures

namespace kokkos_detail
{

inline std::string kind_name(tarn_memory_kind kind)
{
    switch (kind) {
    case TARN_MEMORY_KIND_DEVICE:
        return "device";
    case TARN_MEMORY_KIND_PINNED:
        return "pinned";
    case TARN_MEMORY_KIND_SHARED:
        return "managed";
    case TARN_MEMORY_KIND_HOST:
        return "host";
    }
    return "unknown";
}

[[noreturn]] inline void refuse(const std::string &message)
{
    throw error(TARN_STATUS_INVALID_ARGUMENT, message.c_str());
}

#if KOKKOS_VERSION < 40400
class allocation_failure : public Kokkos::Experimental::RawMemoryAllocationFailure
{
  public:
    allocation_failure(std::size_t size_bytes, const tarn::bad_alloc &shortage)
        : RawMemoryAllocationFailure(size_bytes, Kokkos::Impl::MEMORY_ALIGNMENT),
          shortage_(shortage)
    {
    }

    const char *what() const noexcept override
    {
        return shortage_.what();
    }

    void append_additional_error_information(std::ostream &out) const override
    {
        out << " In fact tarn was asked: " << shortage_.what();
    }

  private:
    tarn::bad_alloc shortage_;
};
#endif

// Throws as this version of Kokkos does, with the pool's sentence.
[[noreturn]] inline void fail(const char *space, const char *label, std::size_t size_bytes,
                              const bad_alloc &shortage)
{
#if KOKKOS_VERSION < 40400
    (void)space, (void)label;
    throw allocation_failure(size_bytes, shortage);
#else
    throw std::runtime_error(std::string("Kokkos ERROR: ") + space +
                             " memory space failed to allocate " + std::to_string(size_bytes) +
                             " bytes (label=\"" + label + "\"). " + shortage.what());
#endif
}

// As HostSpace does before it frees.
inline void fence()
{
#if KOKKOS_VERSION >= 30700
    static const std::string reason = "tarn::PoolSpace: before the end of an allocation";
    Kokkos::fence(reason);
#else
    Kokkos::fence();
#endif
}

template <class Space> struct base {
    using type = Space;
};

template <class Base> struct base<PoolSpace<Base>> {
    using type = Base;
};

template <class Space> using base_of = typename base<Space>::type;

// The base class of the record of an allocation.
template <class Base>
using record =
    std::conditional_t<Kokkos::SpaceAccessibility<Kokkos::HostSpace, Base>::accessible,
                       Kokkos::Impl::SharedAllocationRecordCommon<PoolSpace<Base>>,
                       Kokkos::Impl::HostInaccessibleSharedAllocationRecordCommon<PoolSpace<Base>>>;

} // namespace kokkos_detail

// --------------------------------------------------------------------------------- the memory space

template <class Base> class PoolSpace
{
    using facts = kokkos_space<Base>;
    using instance_type = typename facts::instance;

    static constexpr bool has_streams = !std::is_void_v<instance_type>;
    // Then Kokkos writes the head of an allocation from the host, at once and in no stream's order.
    static constexpr bool is_host_accessible =
        Kokkos::SpaceAccessibility<Kokkos::HostSpace, Base>::accessible;

    template <class T>
    static constexpr bool is_instance =
        has_streams ? std::is_same_v<T, instance_type> : Kokkos::is_execution_space<T>::value;

  public:
    using memory_space = PoolSpace;
    using execution_space = typename Base::execution_space;
    using device_type = Kokkos::Device<execution_space, memory_space>;
    using size_type = typename Base::size_type;

    // The process-wide pools of Base's kind of memory, on the device of the instance at hand, and the order of all instances;
    // or as set_default says.
    PoolSpace() : PoolSpace(default_space())
    {
    }

    // A pool of your own.
    explicit PoolSpace(pool_ref pool) : pool_(pool)
    {
        if constexpr (has_streams) {
            check_pool(stream_of(instance_type()));
        } else {
            check_pool(nullptr);
        }
    }

    // Views end in the order of the instance, which stays until they have ended.
    template <class Instance, class = std::enable_if_t<is_instance<Instance>>>
    explicit PoolSpace(const Instance &instance) : PoolSpace(pool_ref(), instance)
    {
    }

    template <class Instance, class = std::enable_if_t<is_instance<Instance>>>
    PoolSpace(pool_ref pool, const Instance &instance) : pool_(pool)
    {
        if constexpr (has_streams) {
            stream_ = stream_of(instance);
            device_ = kokkos_instance<Instance>::device(instance);
            instance_ = std::make_shared<const Instance>(instance);
        }
        check_pool(stream_of(instance));
    }

    // The space that PoolSpace() is from now on, until Kokkos::finalize. For codes that name a memory space by its type alone,
    // and for Kokkos::resize, which does, too. No other thread may make spaces or Views meanwhile.
    static void set_default(const PoolSpace &space)
    {
        default_space() = space;
        static const bool is_hooked =
            (Kokkos::push_finalize_hook([] { default_space() = PoolSpace(plain()); }), true);
        (void)is_hooked;
    }

    static constexpr const char *name()
    {
        return facts::name;
    }

    // Memory at a multiple of the pool's alignment_bytes, and of Kokkos's 64. Zero bytes have an address of their own.
    // Kokkos Tools are told logical_bytes, or size_bytes if it is 0.
    void *allocate(std::size_t size_bytes) const
    {
        return allocate("", size_bytes);
    }

    void *allocate(const char *label, std::size_t size_bytes, std::size_t logical_bytes = 0) const
    {
        if constexpr (has_streams) {
            const instance_type first; // where Kokkos initialises a View, and waits
            bool is_first = !is_host_accessible && stream_ == stream_of(first);
            return allocate_on(is_first ? stream_ : TARN_STREAM_ANY,
                               instance_ ? device_ : device_of(first), label, size_bytes,
                               logical_bytes);
        } else {
            return allocate_on(host_stream_, device_, label, size_bytes, logical_bytes);
        }
    }

    template <class Instance> void *allocate(const Instance &instance, std::size_t size_bytes) const
    {
        return allocate(instance, "", size_bytes);
    }

    template <class Instance>
    void *allocate(const Instance &instance, const char *label, std::size_t size_bytes,
                   std::size_t logical_bytes = 0) const
    {
        if constexpr (std::is_same_v<Instance, instance_type>) {
            return allocate_on(is_host_accessible ? TARN_STREAM_ANY : stream_of(instance),
                               device_of(instance), label, size_bytes, logical_bytes);
        } else {
            (void)instance;
            return allocate(label, size_bytes, logical_bytes);
        }
    }

    // Ends an allocation, in the order that the space says. Null is allowed.
    void deallocate(void *address, std::size_t size_bytes) const
    {
        deallocate("", address, size_bytes);
    }

    void deallocate(const char *label, void *address, std::size_t size_bytes,
                    std::size_t logical_bytes = 0) const
    {
        if (!address) return;
        if (!Kokkos::is_initialized()) {
            std::string message = std::string("tarn: the Kokkos allocation \"") + label +
                                  "\" ends after Kokkos::finalize\n";
            Kokkos::abort(message.c_str());
        }
        if constexpr (!has_streams) kokkos_detail::fence();
        if (Kokkos::Profiling::profileLibraryLoaded()) {
            Kokkos::Profiling::deallocateData(Kokkos::Profiling::make_space_handle(name()), label,
                                              address, logical_bytes ? logical_bytes : size_bytes);
        }
        if constexpr (has_streams) {
            pool_.deallocate(address, stream_);
        } else { // the fence was a wait for all who used it
            check_free(pool_.handle() ? tarn_pool_free_after(pool_.handle(), address, nullptr, 0)
                                      : tarn_free_on(address, nullptr));
        }
    }

  private:
    struct plain {
    };

    explicit PoolSpace(plain) noexcept
    {
    }

    static PoolSpace &default_space()
    {
        static PoolSpace space{ plain() };
        return space;
    }

    template <class Instance> static tarn_stream stream_of(const Instance &instance)
    {
        return kokkos_instance<Instance>::stream(instance);
    }

    template <class Instance> static int device_of(const Instance &instance)
    {
        return kokkos_instance<Instance>::device(instance);
    }

    // Kokkos ends the stream of its default instance in finalize.
    static void retire_default_at_finalize()
    {
        if constexpr (has_streams) {
            static const bool is_hooked =
                (Kokkos::push_finalize_hook([] { retire(instance_type()); }), true);
            (void)is_hooked;
        }
    }

    void *allocate_on(tarn_stream stream, int device, const char *label, std::size_t size_bytes,
                      std::size_t logical_bytes) const
    {
        void *address;
        if (instance_ && device != device_) {
            kokkos_detail::refuse(std::string(name()) + " of an instance of device " +
                                  std::to_string(device_) + " was given one of device " +
                                  std::to_string(device));
        }
        retire_default_at_finalize();
        try {
            tarn::label scope(label);
            address = pool_on(device).allocate(size_bytes, stream, Kokkos::Impl::MEMORY_ALIGNMENT);
        } catch (const bad_alloc &shortage) {
            kokkos_detail::fail(name(), label, size_bytes, shortage);
        }
        if (Kokkos::Profiling::profileLibraryLoaded()) {
            Kokkos::Profiling::allocateData(Kokkos::Profiling::make_space_handle(name()), label,
                                            address, logical_bytes ? logical_bytes : size_bytes);
        }
        return address;
    }

    pool_ref pool_on(int device) const
    {
        if (pool_.handle()) return pool_;
        tarn_pool *pool = nullptr;
        check(tarn_device_pool(device, facts::kind, &pool));
        if constexpr (facts::kind != TARN_MEMORY_KIND_HOST) {
            static const bool is_for_host = std::strcmp(tarn_backend_name(), "host") == 0;
            if (is_for_host) refuse_host();
        }
        return pool;
    }

    // Refuses a pool of your own that does not go with Base, or with the stream.
    void check_pool(tarn_stream stream)
    {
        if (!pool_.handle()) return;
        const tarn_backend backend = backend_of(pool_);
        if (!backend.operations) return; // memory of the caller's: of unknown kind
        const tarn_device_properties properties = properties_of(backend);
        bool is_kind = has_streams ? properties.kind == facts::kind : properties.is_host_accessible;
        if (!is_kind) {
            kokkos_detail::refuse(std::string(name()) + " was given a pool of " +
                                  kokkos_detail::kind_name(properties.kind) + " memory, not of " +
                                  kokkos_detail::kind_name(facts::kind) + " memory");
        }
        if (!has_streams && properties.kind != TARN_MEMORY_KIND_HOST && has_any_stream(backend)) {
            host_stream_ = TARN_STREAM_ANY; // the device may still use what others freed
        }
        if constexpr (facts::kind != TARN_MEMORY_KIND_HOST) {
            if (std::strcmp(backend.operations->name, "host") == 0) refuse_host();
        }
        if (has_streams && backend.operations->stream_check &&
            backend.operations->stream_check(backend.state, stream).status ==
                TARN_STATUS_INVALID_ARGUMENT) {
            kokkos_detail::refuse(std::string(name()) +
                                  " was given a pool and an instance of different devices; that of "
                                  "the instance is device " +
                                  std::to_string(device_));
        }
    }

    [[noreturn]] static void refuse_host()
    {
        kokkos_detail::refuse(std::string(name()) + " needs a tarn that is built for its vendor; "
                                                    "this one is built for the host");
    }

    pool_ref pool_;                                                // null: process-wide pools
    tarn_stream stream_ = has_streams ? TARN_STREAM_ANY : nullptr; // in whose order Views end
    tarn_stream host_stream_ = nullptr;    // without instances: what allocations are for
    int device_ = TARN_DEVICE_CURRENT;     // of the instance
    std::shared_ptr<const void> instance_; // null: none was given
};

// --------------------------------------------------------------------------------- memory of Views

// Owns memory of a pool, with an unmanaged View over it. Kokkos keeps no record of it: no head is copied to the device, and
// nothing is initialised or fenced. For work arrays in loops:
//
//     tarn::PoolSpace<Kokkos::CudaSpace> space(instance);
//     tarn::pool_view<Kokkos::View<double *, Kokkos::CudaSpace>> work(space, instance, "work", n);
//     Kokkos::parallel_for(..., f(work.view()));
//
// With an instance the memory is for use on that instance. Without one it is for use on any, but in a space of the default
// instance on that one alone. It ends in the order that the space says.
template <class View> class pool_view
{
    static_assert(std::is_trivially_copyable_v<typename View::non_const_value_type> &&
                      std::is_trivially_destructible_v<typename View::non_const_value_type>,
                  "nothing constructs or destroys the elements");

  public:
    using space_type = PoolSpace<kokkos_detail::base_of<typename View::memory_space>>;
    using view_type =
        Kokkos::View<typename View::data_type, typename View::array_layout,
                     typename View::device_type, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

    template <class... Extents>
    pool_view(const space_type &space, const std::string &label, Extents... extents)
        : space_(space), label_(label), size_bytes_(bytes_of(std::size_t(extents)...)),
          view_(at(space_.allocate(label_.c_str(), size_bytes_)), std::size_t(extents)...)
    {
    }

    template <class Instance, class... Extents,
              class = std::enable_if_t<Kokkos::is_execution_space<Instance>::value>>
    pool_view(const space_type &space, const Instance &instance, const std::string &label,
              Extents... extents)
        : space_(space), label_(label), size_bytes_(bytes_of(std::size_t(extents)...)),
          view_(at(space_.allocate(instance, label_.c_str(), size_bytes_)), std::size_t(extents)...)
    {
    }

    pool_view(const pool_view &) = delete;
    pool_view &operator=(const pool_view &) = delete;

    ~pool_view()
    {
        space_.deallocate(label_.c_str(), address_, size_bytes_);
    }

    const view_type &view() const noexcept
    {
        return view_;
    }

  private:
    // Kokkos's own sum may wrap.
    template <class... Extents> static std::size_t bytes_of(Extents... extents)
    {
        std::size_t most = SIZE_MAX / sizeof(typename View::value_type);
        for (std::size_t extent : { std::size_t{ 1 }, extents... }) {
            if (extent != 0 && (most /= extent) == 0) throw std::bad_array_new_length();
        }
        return view_type::required_allocation_size(extents...);
    }

    typename view_type::pointer_type at(void *address)
    {
        address_ = address;
        return static_cast<typename view_type::pointer_type>(address);
    }

    space_type space_;
    std::string label_;
    std::size_t size_bytes_;
    void *address_;
    view_type view_;
};

} // namespace tarn

// ----------------------------------------------------------------------------- what Kokkos asks for

namespace Kokkos
{
namespace Impl
{

// A PoolSpace is accessible, assignable and copied as its base is.
template <class To, class From>
struct MemorySpaceAccess<tarn::PoolSpace<To>, tarn::PoolSpace<From>> : MemorySpaceAccess<To, From> {
};

template <class To, class From>
struct MemorySpaceAccess<tarn::PoolSpace<To>, From> : MemorySpaceAccess<To, From> {
};

template <class To, class From>
struct MemorySpaceAccess<To, tarn::PoolSpace<From>> : MemorySpaceAccess<To, From> {
};

template <class Base>
struct MemorySpaceAccess<tarn::PoolSpace<Base>, AnonymousSpace>
    : MemorySpaceAccess<Base, AnonymousSpace> {
};

template <class Base>
struct MemorySpaceAccess<AnonymousSpace, tarn::PoolSpace<Base>>
    : MemorySpaceAccess<AnonymousSpace, Base> {
};

template <class To, class From, class Instance>
struct DeepCopy<tarn::PoolSpace<To>, tarn::PoolSpace<From>, Instance>
    : DeepCopy<To, From, Instance> {
    using DeepCopy<To, From, Instance>::DeepCopy;
};

template <class To, class From, class Instance>
struct DeepCopy<tarn::PoolSpace<To>, From, Instance> : DeepCopy<To, From, Instance> {
    using DeepCopy<To, From, Instance>::DeepCopy;
};

template <class To, class From, class Instance>
struct DeepCopy<To, tarn::PoolSpace<From>, Instance> : DeepCopy<To, From, Instance> {
    using DeepCopy<To, From, Instance>::DeepCopy;
};

// The record that owns the memory of a View. From Kokkos 4.3 on its base class does all.
template <class Base>
class SharedAllocationRecord<tarn::PoolSpace<Base>, void> : public tarn::kokkos_detail::record<Base>
{
    using Space = tarn::PoolSpace<Base>;
    using Common = tarn::kokkos_detail::record<Base>;

#if KOKKOS_VERSION >= 40300
  public:
    using Common::Common;
#else
    friend class SharedAllocationRecordCommon<Space>;
    friend class HostInaccessibleSharedAllocationRecordCommon<Space>;
    using Root = SharedAllocationRecord<void, void>;
    using End = typename Root::function_type;

#ifdef KOKKOS_ENABLE_DEBUG
    static inline Root s_root_record;
#endif

    SharedAllocationRecord(SharedAllocationHeader *head, const Space &space,
                           const std::string &label, std::size_t size_bytes, End end)
        : Common(
#ifdef KOKKOS_ENABLE_DEBUG
              &s_root_record,
#endif
              head, size_bytes + sizeof(SharedAllocationHeader), end
#if KOKKOS_VERSION >= 30700
              ,
              label
#endif
              ),
          m_space(space), label_(label)
    {
    }

    // Writes the head, by a copy with these arguments before its own if the host cannot.
    template <class... Instance> void write_head(const Instance &...instance)
    {
        if constexpr (SpaceAccessibility<HostSpace, Base>::accessible) {
            this->_fill_host_accessible_header_info(*this->m_alloc_ptr, label_);
        } else {
            SharedAllocationHeader head;
            this->_fill_host_accessible_header_info(head, label_);
            DeepCopy<Base, HostSpace>(instance..., this->m_alloc_ptr, &head, sizeof head);
        }
    }

    const Space m_space; // Kokkos asks for this name
    const std::string label_;

  protected:
    ~SharedAllocationRecord()
    {
        m_space.deallocate(label_.c_str(), this->m_alloc_ptr, this->m_alloc_size, this->size());
    }

    SharedAllocationRecord(const Space &space, const std::string &label, std::size_t size_bytes,
                           End end = &Common::deallocate)
        : SharedAllocationRecord(checked_allocation_with_header(space, label, size_bytes), space,
                                 label, size_bytes, end)
    {
        write_head();
    }

#if KOKKOS_VERSION >= 30700
    template <class Instance>
    SharedAllocationRecord(const Instance &instance, const Space &space, const std::string &label,
                           std::size_t size_bytes, End end = &Common::deallocate)
        : SharedAllocationRecord(checked_allocation_with_header(instance, space, label, size_bytes),
                                 space, label, size_bytes, end)
    {
        write_head(instance);
    }
#endif
#endif
};

} // namespace Impl
} // namespace Kokkos

#endif
