namespace Weir.Explore.Searching;

/// <summary>
/// Probabilistic concurrency testing: each thread has a random priority, the highest goes on, and at <c>depth - 1</c> random choices it falls below all others.
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
