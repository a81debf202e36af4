namespace Weir.Cli.Profiling;

/// <summary>Divides samples into work and waiting, by the processor time of the threads.</summary>
/// <remarks>
/// A stack does not tell whether a native call works or sleeps, and a thread that wakes up is found in compiled code more often than it runs, because a sample
/// stops it there. The processor time of the thread does: of the samples in an interval, as many are work as the thread had of it. Where that time is not
/// known, all samples are work except those of waiting threads. Code that cannot be stopped, or that waits for a processor until it can, delays the samples of
/// its interval. So an interval counts by its length, however few samples it has.
/// </remarks>
/// <param name="share">The share of an interval that a thread had a processor; <see langword="null"/> if it is not known.</param>
/// <param name="length">The length of an interval.</param>
internal sealed class SampleShares(Func<int, int, double?> share, Func<int, double> length)
{
    private readonly Dictionary<(int Thread, int Interval), List<FoldedSample>> _samples = [];

    /// <summary>Adds a sample.</summary>
    /// <param name="thread">The system's number of the thread.</param>
    /// <param name="interval">The interval in which it was taken.</param>
    /// <param name="sample">The sample.</param>
    public void Add(int thread, int interval, FoldedSample sample)
    {
        if (!_samples.TryGetValue((thread, interval), out List<FoldedSample>? samples))
        {
            _samples[(thread, interval)] = samples = [];
        }

        samples.Add(sample);
    }

    /// <summary>The stacks of work and of waiting, with their samples.</summary>
    public (Dictionary<string, double> Work, Dictionary<string, double> Waiting) Divide()
    {
        Dictionary<string, double> work = [];
        Dictionary<string, double> waiting = [];
        var known = _samples.Where(s => share(s.Key.Thread, s.Key.Interval) is not null).ToArray();
        double mean = known.Sum(static s => s.Value.Count) / known.Sum(s => length(s.Key.Interval));
        foreach (((int thread, int interval), List<FoldedSample> samples) in _samples)
        {
            double? had = share(thread, interval);
            double weight = had is null ? 1 : mean * length(interval) / samples.Count;
            double left = had * samples.Count ?? double.PositiveInfinity;
            foreach (IGrouping<SampleKind, FoldedSample> kind in samples.GroupBy(static s => s.Kind).OrderBy(static g => g.Key))
            {
                int count = kind.Count();
                double part = kind.Key == SampleKind.Waiting ? 0 : Math.Min(1, left / count);
                left -= part * count;
                foreach (FoldedSample sample in kind)
                {
                    Add(work, sample.Frames, weight * part);

                    // Compiled code without a processor waits for one, or for the profiler, and the loop is no part of the work.
                    bool waits = kind.Key != SampleKind.Managed && sample.Frames is not (ProfileRecord.LabLoop or ProfileRecord.Operation);
                    Add(waiting, sample.Frames, waits ? weight * (1 - part) : 0);
                }
            }
        }

        GiveReturns(work);
        return (work, waiting);
    }

    // Where compiled code cannot be stopped, it is stopped when it returns: a short operation in the loop that called it.
    private static void GiveReturns(Dictionary<string, double> work)
    {
        string[] operations = [.. work.Keys.Where(static f => f is not (ProfileRecord.Operation or ProfileRecord.LabLoop))];
        double known = operations.Sum(f => work[f]);
        if (known > 0 && work.Remove(ProfileRecord.Operation, out double returned))
        {
            foreach (string frames in operations)
            {
                work[frames] *= 1 + (returned / known);
            }
        }
    }

    private static void Add(Dictionary<string, double> stacks, string frames, double part)
    {
        if (part > 0)
        {
            stacks[frames] = stacks.GetValueOrDefault(frames) + part;
        }
    }
}
