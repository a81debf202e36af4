namespace Weir.Explore.Searching;

/// <summary>Runs a body under one schedule after the other, and counts.</summary>
internal sealed class ScheduleRunner(Func<Task> body, ExploreOptions options)
{
    private const int MostRepeats = 20;

    public long Schedules { get; private set; }

    /// <summary>The most points of a schedule.</summary>
    public int Points { get; private set; }

    /// <summary>The most choices of a schedule.</summary>
    public int Choices { get; private set; }

    public Execution Run(IChooser chooser, SeenStates? seen = null)
    {
        Execution execution = new(chooser, options, seen);
        execution.Run(body, options.Patience);
        Schedules++;
        Points = Math.Max(Points, execution.Steps);
        Choices = Math.Max(Choices, execution.Decisions.Count);
        return execution;
    }

    /// <summary>The schedules so far do not count: they are run again.</summary>
    public void BeginAgain() => Schedules = 0;

    /// <summary>Runs the given choices. A program that does not come to them again is refused.</summary>
    public Execution Replay(byte[] choices, SeenStates? seen = null)
    {
        PrefixChooser chooser;
        Execution execution;
        int collections;
        bool isForgetful = options.StoreBuffers || options.DataRaces;
        int again = MostRepeats;
        do
        {
            // A garbage collection shows the stores that were in buffers, and lets accesses be forgotten.
            collections = GC.CollectionCount(0);
            chooser = new(choices);
            Schedules -= again < MostRepeats ? 1 : 0;
            seen?.Begin(choices.Length);
            execution = Run(chooser, seen);
        }
        while (((isForgetful && collections != GC.CollectionCount(0)) || seen is { Conflicts.IsLost: true }) && again-- > 0);

        seen?.Keep();
        return chooser.HasDiverged || (execution.Failure is null && execution.Decisions.Count < choices.Length) ? throw new DivergedException() : execution;
    }

    /// <summary>Makes sure that a failure comes again.</summary>
    public void Confirm(Execution failed)
    {
        if (failed.Failure!.Kind != FailureKind.Hang && Replay(ScheduleText.Choices(failed.Decisions)).Failure?.Kind != failed.Failure.Kind)
        {
            throw new DivergedException();
        }
    }
}
