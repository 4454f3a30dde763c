# Sourced by tests/vk/layered and tests/scenes/run, which have set build (a build folder), work (a folder of their own) and
# several (not empty: the validation layer is up to several queues). Sets what programs run with under Vulkan layers.
total_good=0
total_bad=0

# The CPU driver, where it is known by this name, and none beside it.
for driver in /usr/share/vulkan/icd.d/lvp_icd*.json; do
    [ -f "$driver" ] && export VK_ICD_FILENAMES=$driver
done
validation=
[ -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ] && validation=1
export VK_ADD_LAYER_PATH=$build/tests/layer
printf 'khronos_validation.report_flags = error,warn\n' >"$work/vk_layer_settings.txt"
export VK_LAYER_SETTINGS_PATH=$work/vk_layer_settings.txt
export VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC=1
sync=VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT

# What the stages below run with. A trap: synchronization over submits is validated by 1.3 only when asked for like this.
one_queue=(env VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation:VK_LAYER_HEDDLE_test
           "VK_LAYER_ENABLES=$sync;VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT")
no_test_device=(env VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation "VK_LAYER_ENABLES=$sync") # for windows
three_families=(env VK_INSTANCE_LAYERS=VK_LAYER_HEDDLE_test)
three_validated=(env VK_INSTANCE_LAYERS=VK_LAYER_HEDDLE_order:VK_LAYER_KHRONOS_validation:VK_LAYER_HEDDLE_test)
[ -n "$several" ] && three_validated+=("VK_LAYER_ENABLES=$sync")

# quiet LOG COMMAND...: runs it; true when it ends with 0 and no layer complained.
quiet()
{
    local log=$1
    shift
    (timeout -k 10 240 "$@" >"$log" 2>&1 </dev/null; exit $?) 2>/dev/null &&
        ! grep -qaE 'Validation|VUID-|SYNC-HAZARD|^test device \(' "$log"
}

# tally NAME GOOD BAD
tally()
{
    printf '%-44s %4d passed, %d failed\n' "$1" "$2" "$3"
    total_good=$((total_good + $2))
    total_bad=$((total_bad + $3))
}

# stage NAME COMMAND...: one command, and what it said if that was not well.
stage()
{
    local name=$1
    shift
    if quiet "$work/log" "$@"; then
        tally "$name" 1 0
    else
        tally "$name" 0 1
        grep -avE '^pass |^queue |^heddle, level' "$work/log" | cut -c1-1000 | head -n 40
    fi
}
