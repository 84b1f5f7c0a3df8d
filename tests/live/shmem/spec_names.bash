# shellcheck shell=bash
# The functions that OpenSHMEM 1.6 has, one name a line, from the specification's own tables and not
# from the header. Sourced by shmem_spec_language.sh.

spec_standard_atomic="int long longlong uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff"
spec_bitwise_atomic="uint ulong ulonglong int32 int64 uint32 uint64"
spec_real="float double"
spec_rma="$spec_standard_atomic $spec_real longdouble char schar short uchar ushort int8 int16 uint8
    uint16"
spec_reduce_bitwise="uchar ushort uint ulong ulonglong int8 int16 int32 int64 uint8 uint16 uint32
    uint64 size"
spec_complex="complexd complexf"
spec_old_bitwise="short int long longlong"
spec_old_minmax="$spec_old_bitwise float double longdouble"

# typed TYPES NAME...: a name with TYPE in it for each type.
typed()
{
    local types=$1 type name
    shift
    for type in $types; do
        for name; do
            echo "shmem_${name/TYPE/$type}"
        done
    done
}

# typed_on_both TYPES NAME...: the same, on the default context and on any.
typed_on_both()
{
    local types=$1
    shift
    typed "$types" "$@" "${@/#/ctx_}"
}

spec_current_names()
{
    printf 'shmem_%s\n' init my_pe n_pes finalize global_exit pe_accessible addr_accessible ptr \
        team_ptr info_get_version info_get_name init_thread query_thread query_initialized \
        malloc free realloc align malloc_with_hints calloc \
        team_my_pe team_n_pes team_get_config team_translate_pe team_split_strided team_split_2d \
        team_destroy ctx_create team_create_ctx ctx_destroy ctx_get_team ctx_session_start \
        ctx_session_stop signal_fetch signal_set signal_add ctx_signal_set ctx_signal_add \
        signal_wait_until barrier_all sync_all team_sync fence ctx_fence quiet ctx_quiet pe_quiet \
        ctx_pe_quiet set_lock clear_lock test_lock pcontrol
    typed_on_both "$spec_rma" TYPE_{put,p,iput,ibput,get,g,iget,ibget,put_nbi,get_nbi} \
        TYPE_{put_signal,put_signal_nbi}
    typed_on_both "8 16 32 64 128" {put,iput,ibput,get,iget,ibget}TYPE {put,get}TYPE_nbi \
        putTYPE_{signal,signal_nbi}
    typed_on_both mem {put,get}TYPE {put,get}TYPE_nbi putTYPE_{signal,signal_nbi}
    typed_on_both "$spec_standard_atomic $spec_real" TYPE_atomic_{fetch,set,swap,fetch_nbi,swap_nbi}
    typed_on_both "$spec_standard_atomic" TYPE_atomic_{compare_swap,fetch_inc,inc,fetch_add,add} \
        TYPE_atomic_{compare_swap,fetch_inc,fetch_add}_nbi
    typed_on_both "$spec_bitwise_atomic" TYPE_atomic_{,fetch_}{and,or,xor} \
        TYPE_atomic_fetch_{and,or,xor}_nbi
    typed "$spec_standard_atomic" TYPE_{wait_until,test} \
        TYPE_{wait_until,test}_{all,any,some}{,_vector}
    typed "$spec_rma" TYPE_{broadcast,collect,fcollect,alltoall,alltoalls}
    typed mem {broadcast,collect,fcollect,alltoall,alltoalls}TYPE
    typed "$spec_reduce_bitwise" TYPE_{and,or,xor}_reduce
    typed "$spec_rma" TYPE_{min,max}_reduce
    typed "$spec_rma $spec_complex" TYPE_{sum,prod}_reduce TYPE_sum_{inscan,exscan}
}

spec_deprecated_names()
{
    printf '%s\n' start_pes _my_pe _num_pes shmalloc shfree shrealloc shmemalign
    printf 'shmem_%s\n' barrier sync wait wait_until clear_cache_inv clear_cache_line_inv \
        set_cache_inv set_cache_line_inv udcflush udcflush_line
    typed "32 64" {broadcast,collect,fcollect,alltoall,alltoalls}TYPE
    typed "$spec_old_bitwise" TYPE_{and,or,xor}_to_all TYPE_wait
    typed "$spec_old_minmax" TYPE_{min,max}_to_all
    typed "$spec_old_minmax $spec_complex" TYPE_{sum,prod}_to_all
    typed "short ushort" TYPE_{wait_until,test}
    typed "int long longlong $spec_real" TYPE_{fetch,set,swap}
    typed "int long longlong" TYPE_{cswap,finc,inc,fadd,add}
}

# What the specification has for other types only; other libraries and their programs have these.
spec_generous_names()
{
    typed "short ushort" TYPE_{wait_until,test}_{all,any,some}{,_vector}
    typed "$spec_standard_atomic" TYPE_{fetch,set,swap,cswap,finc,inc,fadd,add}
}

# All of them, and again for tools; the old names without shmem_ have no such second name.
spec_names()
{
    {
        spec_current_names
        spec_deprecated_names
        spec_generous_names
    } | sed 'p; s/^shmem_/pshmem_/' | sort -u
}
