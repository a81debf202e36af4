namespace Weir.Explore.Searching;

/// <summary>Runs a body under one schedule after the other, and counts.</summary>
internal sealed class ScheduleRunner(Func<Task> body, ExploreOptions options)
{
    private const int MostRepeats = 20;

    public long Schedules { get; private set; }

    /// <summary>The most that a schedule had.</summary>
    public int Points { get; private set; }

    public int Choices { get; private set; }

    /// <summary>Runs a schedule. It is run again, and counts once, where something came in between that does not come each time.</summary>
    public Execution Run(Func<IChooser> chooser, SeenStates? seen = null)
    {
        Execution execution;
        bool isDisturbed;
        int again = MostRepeats;
        do
        {
            // A class that is initialized in the middle is so before the first step when the schedule is run again. A garbage collection shows the stores that
            // were in buffers, and lets accesses be forgotten.
            int classes = Statics.Count;
            int collections = GC.CollectionCount(0);
            execution = new Execution(chooser(), options, seen);
            execution.Run(body);
            isDisturbed = Statics.Count != classes || seen is { Conflicts.IsLost: true } ||
                ((options.StoreBuffers || options.DataRaces) && collections != GC.CollectionCount(0));
        }
        while (isDisturbed && execution.Failure?.Kind != FailureKind.Hang && again-- > 0);

        seen?.Keep();
        Schedules++;
        Points = Math.Max(Points, execution.Steps);
        Choices = Math.Max(Choices, execution.Decisions.Count);
        return execution;
    }

    /// <summary>The schedules so far do not count: they are run again.</summary>
    public void BeginAgain() => (Schedules, Points, Choices) = (0, 0, 0);

    /// <summary>Runs the given choices. A program that does not come to them again is refused.</summary>
    public Execution Replay(byte[] choices, SeenStates? seen = null)
    {
        PrefixChooser chooser = null!;
        Execution execution = Run(
            () =>
            {
                seen?.Begin(choices.Length);
                return chooser = new PrefixChooser(choices);
            },
            seen);
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
