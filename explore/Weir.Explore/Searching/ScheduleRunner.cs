using System.Globalization;

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

        seen?.AddNew();
        Schedules++;
        Points = Math.Max(Points, execution.Steps);
        Choices = Math.Max(Choices, execution.Decisions.Count);
        return execution;
    }

    /// <summary>
    /// Runs the first schedule of a body that is rewritten to tell of each plain access: how many there are of what threads share, and how many of them are in
    /// no order. Null if that cannot be told.
    /// </summary>
    public static (int Shared, int Unordered)? CountPlain(Func<Task> told, ExploreOptions options)
    {
        for (int again = MostRepeats; again > 0; again--)
        {
            (int classes, int collections) = (Statics.Count, GC.CollectionCount(0));
            Execution execution = new(new PrefixChooser([]), options) { CountsRaces = true };
            execution.Run(told);
            if (execution.Failure is not null)
            {
                return null;
            }

            if ((classes, collections) == (Statics.Count, GC.CollectionCount(0)))
            {
                return (execution.Races!.Shared, execution.Races.Unordered);
            }
        }

        return null;
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

/// <summary>Chooses what it was given, and after that lets whoever runs continue.</summary>
internal sealed class PrefixChooser(byte[] prefix) : IChooser
{
    private int _next;

    /// <summary>What was to be chosen did not exist: the program is not the same each time.</summary>
    public bool HasDiverged { get; private set; }

    public int Choose(IReadOnlyList<ControlledThread> runnable, bool couldContinue)
    {
        int chosen = _next < prefix.Length ? prefix[_next] : 0;
        _next++;
        HasDiverged |= chosen >= runnable.Count;
        return chosen < runnable.Count ? chosen : 0;
    }
}

/// <summary>Each thread that can run is as likely as the others.</summary>
internal sealed class RandomChooser(int seed) : IChooser
{
    private readonly Random _random = new(seed);

    public int Choose(IReadOnlyList<ControlledThread> runnable, bool couldContinue) => _random.Next(runnable.Count);
}

/// <summary>
/// Probabilistic concurrency testing: each thread has a random priority, the highest runs, and at <c>depth - 1</c> random choices it falls below all others.
/// A fault of that depth is found with a known probability.
/// </summary>
internal sealed class PctChooser(Random random, int depth, int length) : IChooser
{
    private readonly Dictionary<ControlledThread, double> _priorities = [];
    private readonly HashSet<int> _changes = [.. Enumerable.Range(1, depth - 1).Select(_ => random.Next(Math.Max(1, length)))];
    private double _lowest;
    private int _choices;

    public int Choose(IReadOnlyList<ControlledThread> runnable, bool couldContinue)
    {
        int best = Best(runnable);
        if (_changes.Contains(_choices++))
        {
            Yielded(runnable[best]);
            best = Best(runnable);
        }

        return best;
    }

    public void Yielded(ControlledThread thread) => _priorities[thread] = --_lowest;

    private int Best(IReadOnlyList<ControlledThread> runnable)
    {
        foreach (ControlledThread thread in runnable.Where(t => !_priorities.ContainsKey(t)))
        {
            _priorities.Add(thread, random.NextDouble() + 1);
        }

        return Enumerable.Range(0, runnable.Count).MaxBy(i => _priorities[runnable[i]]);
    }
}

/// <summary>The choices of a schedule as text: <c>12x0.2.1</c> is twelve times choice 0, then 2, then 1. Zeros at the end are left out.</summary>
internal static class ScheduleText
{
    public static string Write(string name, ReadOnlySpan<byte> choices)
    {
        choices = choices.TrimEnd((byte)0);
        StringBuilder text = new(name + ":");
        for (int i = 0; i < choices.Length;)
        {
            int end = i;
            while (end < choices.Length && choices[end] == choices[i])
            {
                end++;
            }

            text.Append(i > 0 ? "." : "").Append(end - i > 1 ? string.Create(CultureInfo.InvariantCulture, $"{end - i}x") : "").Append(choices[i]);
            i = end;
        }

        return text.ToString();
    }

    public static bool TryRead(string text, string name, out byte[] choices)
    {
        choices = [];
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        if (colon < 0)
        {
            throw new FormatException($"WEIR_SCHEDULE is '{text}'. It has to be one that a failure has printed: a name, a colon, and choices.");
        }

        if (text[..colon] != name)
        {
            return false;
        }

        List<byte> read = [];
        foreach (string part in text[(colon + 1)..].Split('.', StringSplitOptions.RemoveEmptyEntries))
        {
            int times = part.IndexOf('x', StringComparison.Ordinal);
            int count = 1;
            if (!byte.TryParse(part.AsSpan(times + 1), NumberStyles.None, CultureInfo.InvariantCulture, out byte choice) ||
                (times >= 0 && !int.TryParse(part.AsSpan(0, times), NumberStyles.None, CultureInfo.InvariantCulture, out count)) || count > 1_000_000)
            {
                throw new FormatException($"WEIR_SCHEDULE has the choice '{part}'. A choice is a number from 0 to 255, or a count, an x and that number.");
            }

            read.AddRange(Enumerable.Repeat(choice, count));
        }

        choices = [.. read];
        return true;
    }

    public static byte[] Choices(List<Decision> decisions) => [.. decisions.Select(static d => d.Chosen)];
}

/// <summary>A choice that a schedule had before was not there, or it ended in another way.</summary>
internal sealed class DivergedException : Exception;
