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
	{"TMPDIR", "folder of the item alone, removed at its end; a job can name another by `-env`"},
	{InstanceMark, "for qb alone"},
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
