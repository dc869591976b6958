package api

// InstanceMark is the variable by which a host finds the processes of an instance. No job has it of another one.
const InstanceMark = "QB_INSTANCE_MARK"

// ItemVariable is an environment variable that qb sets for an item.
type ItemVariable struct{ Name, Doc string }

// ItemVariables are all that qb sets for one item alone. A worker's values have precedence over a job's. Clients that
// send their own environment leave these out: in it they are those of the item that submits, or of somebody's
// workstation. docs/item-variables.md and python/qb.py are made of this table.
var ItemVariables = []ItemVariable{
	{"QBJOBID", "id of the job"},
	{"QBSUBID", "number of the instance"},
	{"QBPGRPID", "process group of the job"},
	{"QBDIR", "folder of qb's programs on the host"},
	{"QB_DOMAIN", "always `.`"},
	{"QB_SUPERVISOR", "address of the farm"},
	{"QB_HOST", "name of the host"},
	{"QB_ITEM", "position of the item in the agenda, from 0"},
	{"QB_ATTEMPT", "number of the attempt, from 1"},
	{"QB_KILL_GRACE", "seconds between TERM and KILL when the item is stopped (supervisor_kill_grace), as they were at its start"},
	{"QB_JOBSLOTS", "slots of the instance"},
	{"QB_ALLOCATIONS", "the slots as a reservation, `host.processors=N`"},
	{"QB_FRAME_PADDING", "digits to which numbers are padded; 0: as they are"},
	{"QB_FRAME_NUMBER", "of jobs with a range: the item's number or label, the first of a chunk"},
	{"QB_FRAME_START", "of jobs with a range: the first number"},
	{"QB_FRAME_END", "of jobs with a range: the last number"},
	{"QB_FRAME_STEP", "of jobs with a range: the step between two numbers"},
	{"QB_FRAME_RANGE", "of jobs with a range: all numbers, such as `1-9x2`"},
	{"QB_PADDED_FRAME_NUMBER", "QB_FRAME_NUMBER with the job's padding"},
	{"QB_PADDED_FRAME_START", "QB_FRAME_START with the job's padding"},
	{"QB_PADDED_FRAME_END", "QB_FRAME_END with the job's padding"},
	{"QB_PADDED_FRAME_STEP", "QB_FRAME_STEP as in the command"},
	{"QB_FRAME_STATUS", "of postflights: `complete` or `failed`, how the command ended"},
	{"QB_INSTANCE_STATUS", "of postflights: the same"},
	{"QB_SYSTEM_EXIT_CODE", "of postflights: exit code of the command, 128 and the number of a signal"},
	{"QB_GPUS", "numbers of the GPUs that the instance holds; empty: none, on a host that offers GPUs"},
	{"CUDA_VISIBLE_DEVICES", "the same, for programs that use CUDA; a job without GPUs can name others by `-env`"},
	{"HIP_VISIBLE_DEVICES", "the same, for programs that use HIP (ROCm); `-1`: none"},
	{"GPU_DEVICE_ORDINAL", "the same, for programs that use AMD's OpenCL; `-1`: none"},
	{"ROCR_VISIBLE_DEVICES", "empty: no AMD GPU. Not set for an item with GPUs: ROCm would number those that it lists from 0, and HIP_VISIBLE_DEVICES would name others"},
	{"ZE_AFFINITY_MASK", "the same, for programs that use Intel's Level Zero (oneAPI); `999999`, a number that no device has: none, as an empty mask shows all"},
	{"TMPDIR", "folder of the item alone, removed at its end; a job can name another by `-env`"},
	{"QB_WORK", "of jobs whose program stays loaded: socket at which the program asks for items"},
	{InstanceMark, "for qb alone"},
}

// GPUVariables tell an item which GPUs it holds.
func GPUVariables(list string) map[string]string {
	return map[string]string{
		"QB_GPUS": list, "CUDA_VISIBLE_DEVICES": list, "HIP_VISIBLE_DEVICES": list, "GPU_DEVICE_ORDINAL": list,
		"ZE_AFFINITY_MASK": list,
	}
}

// NoGPUVariables hide a host's GPUs from an item whose job has the variables job. The runtimes of AMD and Intel read an
// empty list as an unset one, except for ROCR_VISIBLE_DEVICES. HIP reads CUDA_VISIBLE_DEVICES where
// HIP_VISIBLE_DEVICES is empty, so a job that names devices by one of AMD's variables or by CUDA's hides none of AMD's.
func NoGPUVariables(job map[string]string) map[string]string {
	hide := map[string]string{"QB_GPUS": "", "CUDA_VISIBLE_DEVICES": "", "ZE_AFFINITY_MASK": "999999"}
	for _, name := range []string{"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
		"ROCR_VISIBLE_DEVICES"} {
		if job[name] != "" {
			return hide
		}
	}
	hide["HIP_VISIBLE_DEVICES"], hide["GPU_DEVICE_ORDINAL"], hide["ROCR_VISIBLE_DEVICES"] = "-1", "-1", ""
	return hide
}

// IsItemVariable says whether qb sets a variable for an item.
func IsItemVariable(name string) bool {
	for _, v := range ItemVariables {
		if v.Name == name {
			return true
		}
	}
	return false
}
