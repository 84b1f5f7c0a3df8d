# shellcheck shell=bash
# The routines that OpenSHMEM 1.4 has for Fortran, one name a line, from the specification's own
# synopses. Sourced by shmem_fortran.sh.

# each WORDS NAME...: a name with WORD in it for each word.
each()
{
    local words=$1 word name
    shift
    for word in $words; do
        for name; do
            echo "shmem_${name/WORD/$word}"
        done
    done
}

fortran_specified_names()
{
    printf '%s\n' start_pes my_pe num_pes shpalloc shpdeallc shpclmove
    printf 'shmem_%s\n' init finalize global_exit my_pe n_pes pe_accessible addr_accessible ptr \
        info_get_version info_get_name fence quiet barrier barrier_all set_lock clear_lock \
        test_lock {set,clear}_cache{,_line}_inv udcflush{,_line} swap wait wait_until
    each "character complex double integer logical real" WORD_{put,get}{,_nbi}
    each "4 8 32 64 128 mem" {put,get}WORD{,_nbi}
    each "complex double integer logical real" WORD_{iput,iget}
    each "4 8 32 64 128" {iput,iget}WORD
    each "int4 int8 real4 real8" WORD_{fetch,set,swap}
    each "int4 int8" WORD_{cswap,fadd,finc,add,inc,wait,wait_until}
    each "4 8 32 64" {broadcast,collect,fcollect}WORD
    each "32 64" {alltoall,alltoalls}WORD
    each "int4 int8" WORD_{and,or,xor}_to_all
    each "int4 int8 real4 real8 real16" WORD_{min,max}_to_all
    each "int4 int8 real4 real8 real16 comp4 comp8" WORD_{sum,prod}_to_all
}

# What older specifications and other libraries have.
fortran_generous_names()
{
    printf 'shmem_%s\n' put get
    each int2 WORD_{and,or,xor,min,max,sum,prod}_to_all
}

fortran_names()
{
    {
        fortran_specified_names
        fortran_generous_names
    } | sort -u
}

fortran_constants()
{
    printf 'SHMEM_%s\n' MAJOR_VERSION MINOR_VERSION MAX_NAME_LEN VENDOR_STRING \
        CMP_{EQ,NE,GT,GE,LT,LE} SYNC_VALUE {,BARRIER_,BCAST_,COLLECT_,REDUCE_}SYNC_SIZE \
        {ALLTOALL,ALLTOALLS}_SYNC_SIZE REDUCE_MIN_WRKDATA_SIZE
}
