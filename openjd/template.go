package openjd

// A JobTemplate is what a job is made of (section 1.1 of the specification).
type JobTemplate struct {
	Extensions   []string
	Name         Format
	Description  string
	Parameters   []*Parameter
	Environments []*Environment
	Steps        []*StepTemplate
}

// An EnvironmentTemplate is an environment that a farm or a user adds to jobs (1.2).
type EnvironmentTemplate struct {
	Extensions  []string
	Parameters  []*Parameter
	Environment *Environment
}

// A StepTemplate is one step of a template: what its tasks run, and what they need (3).
type StepTemplate struct {
	Name         string
	Description  string
	Dependencies []string // names of steps
	Environments []*Environment
	Requirements *requirementsTemplate // nil: none
	Space        *spaceTemplate        // nil: one task without parameters
	Script       *Script
	path         string
}

// An Environment is entered before the tasks of a session and left after them (4).
type Environment struct {
	Name        string
	Description string
	Variables   []Variable
	OnEnter     *Action // nil: none
	OnExit      *Action // nil: none
	Files       []EmbeddedFile
}

// A Variable of an environment is set for all actions while the environment is entered (4.4).
type Variable struct {
	Name  string
	Value Format
}

// A Script is what a task of a step runs (3.5).
type Script struct {
	OnRun *Action
	Files []EmbeddedFile
}

// An Action is a command that runs on a host (5).
type Action struct {
	Command       Format
	Args          []Format
	Timeout       Count // seconds; not set: no limit, or 300 for onExit
	Mode          Format
	NotifyPeriod  Count // seconds
	defaultNotify int64
}

// The modes of a cancelation (5.3).
const (
	Terminate           = "TERMINATE"
	NotifyThenTerminate = "NOTIFY_THEN_TERMINATE"
)

// EndOfLine is how the lines of an embedded file end.
type EndOfLine string

// The ends of lines (6.1).
const (
	EndAuto EndOfLine = "AUTO"
	EndLF   EndOfLine = "LF"
	EndCRLF EndOfLine = "CRLF"
)

// An EmbeddedFile is written to the session's folder before each action of its script (6).
type EmbeddedFile struct {
	Name      string
	Filename  string // "" for a random name
	Runnable  bool
	Data      Format
	EndOfLine EndOfLine
}

// A Count is an integer that may be known when the job is created only.
type Count struct {
	Set    bool
	N      int64 // of a literal, and of a job
	format Format
	least  int64
	most   int64
}

// A requirementsTemplate is what a step needs of a host (3.3).
type requirementsTemplate struct {
	amounts    []amountTemplate
	attributes []attributeTemplate
}

type amountTemplate struct {
	name Format
	min  *Format
	max  *Format
}

type attributeTemplate struct {
	name  Format
	anyOf []Format
	allOf []Format
}

// A spaceTemplate are the parameters of a step's tasks (3.4).
type spaceTemplate struct {
	parameters  []*taskParameter
	combination *combination
	place       Format // of the space, for problems
}

// TaskType is the type of a task parameter.
type TaskType string

// The types of task parameters (3.4.1).
const (
	TaskInt    TaskType = "INT"
	TaskFloat  TaskType = "FLOAT"
	TaskString TaskType = "STRING"
	TaskPath   TaskType = "PATH"
	TaskChunk  TaskType = "CHUNK[INT]"
)

// A taskParameter has either an expression or a list of values.
type taskParameter struct {
	name       string
	kind       TaskType
	expression *Format
	list       []Format
	chunks     *chunks
	place      Format
}

type chunks struct {
	count      Count
	runtime    Count
	contiguous bool
}
