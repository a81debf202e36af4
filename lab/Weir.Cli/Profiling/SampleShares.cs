namespace Weir.Cli.Profiling;

/// <summary>Divides samples into work and waiting, by the processor time of the threads.</summary>
/// <remarks>
/// A stack does not tell whether a native call works or sleeps, and a thread that wakes up is found in compiled code more often than it runs, because a sample
/// stops it there. The system tells how long the thread had something to do in an interval: so much of its samples is work. They count by the time for which
/// they stand, not by their number, because a sample stops compiled code, but not a native call, which goes on meanwhile. Where the system does not tell it,
/// all samples are work except those of waiting threads.
/// </remarks>
/// <param name="share">The share of an interval in which a thread had something to do; <see langword="null"/> if it is not known.</param>
/// <param name="length">The length of an interval.</param>
/// <param name="loop">How much time the lab's loop itself can have needed at most, in the unit of the lengths.</param>
internal sealed class SampleShares(Func<int, int, double?> share, Func<int, double> length, double loop = double.PositiveInfinity)
{
    private readonly Dictionary<(int Thread, int Interval), List<(FoldedSample Sample, double Time)>> _samples = [];

    /// <summary>Adds a sample.</summary>
    /// <param name="thread">The system's number of the thread.</param>
    /// <param name="interval">The interval in which it was taken.</param>
    /// <param name="sample">The sample.</param>
    /// <param name="time">For how much of the thread's time it stands, in the unit of the lengths.</param>
    public void Add(int thread, int interval, FoldedSample sample, double time)
    {
        if (!_samples.TryGetValue((thread, interval), out List<(FoldedSample, double)>? samples))
        {
            _samples[(thread, interval)] = samples = [];
        }

        samples.Add((sample, time));
    }

    /// <summary>The stacks of work and of waiting, with their samples.</summary>
    public (Dictionary<string, double> Work, Dictionary<string, double> Waiting) Divide()
    {
        Dictionary<string, double> work = [];
        Dictionary<string, double> waiting = [];
        (FoldedSample Sample, double Time)[] all = [.. _samples.Values.SelectMany(static s => s).Where(static s => s.Sample.Frames is not null)];
        double one = all.Length == 0 ? 1 : all.Sum(static s => s.Time) / all.Length;
        foreach (((int thread, int interval), List<(FoldedSample Sample, double Time)> samples) in _samples)
        {
            double? busy = share(thread, interval) * (interval < 0 ? 0 : length(interval));
            (SampleKind Kind, double Time, double Part)[] kinds = [.. Parts(samples, busy ?? double.PositiveInfinity)];
            double known = kinds.Sum(static k => k.Time * k.Part);

            // Code that cannot be stopped has few samples, and counts by its time all the same.
            double scale = busy is { } whole && known > 0 ? whole / known : 1;
            foreach ((FoldedSample sample, double time) in samples)
            {
                // A thread of the pool that runs other code for a while, such as the profiler's, is not at work for all of its time.
                if (sample.Frames is null)
                {
                    continue;
                }

                double part = Array.Find(kinds, k => k.Kind == sample.Kind).Part;
                Add(work, sample.Frames, time * part * scale / one);

                // Compiled code that was not at work was stopped by the profiler, and the loop is no part of the work.
                bool waits = sample.Kind != SampleKind.Managed && sample.Frames is not (ProfileRecord.LabLoop or ProfileRecord.Operation);
                Add(waiting, sample.Frames, waits ? time * (1 - part) / one : 0);
            }
        }

        GiveReturns(work, loop / one);
        return (work, waiting);
    }

    // How much of the samples of each kind is work: the kinds get what there is of it in their order.
    private static IEnumerable<(SampleKind Kind, double Time, double Part)> Parts(List<(FoldedSample Sample, double Time)> samples, double left)
    {
        foreach (IGrouping<SampleKind, (FoldedSample Sample, double Time)> kind in samples.GroupBy(static s => s.Sample.Kind).OrderBy(static g => g.Key))
        {
            double time = kind.Sum(static s => s.Time);
            double part = kind.Key == SampleKind.Waiting || !(time > 0) ? 0 : Math.Min(1, left / time);
            left -= part * time;
            yield return (kind.Key, time, part);
        }
    }

    // Where compiled code cannot be stopped, it is stopped when it returns: a short operation in the loop that called it, or a little later, where the loop
    // reads the clock. What is more there than the loop can need is the operations'.
    private static void GiveReturns(Dictionary<string, double> work, double loop)
    {
        string[] operations = [.. work.Keys.Where(static f => f is not (ProfileRecord.Operation or ProfileRecord.LabLoop))];
        double known = operations.Sum(f => work[f]);
        if (known <= 0)
        {
            return;
        }

        work.Remove(ProfileRecord.Operation, out double returned);
        if (work.TryGetValue(ProfileRecord.LabLoop, out double inLoop) && inLoop > loop)
        {
            returned += inLoop - loop;
            work[ProfileRecord.LabLoop] = loop;
        }

        foreach (string frames in operations)
        {
            work[frames] *= 1 + (returned / known);
        }
    }

    private static void Add(Dictionary<string, double> stacks, string frames, double part)
    {
        // Less is what is left of rounding.
        if (part > 1e-6)
        {
            stacks[frames] = stacks.GetValueOrDefault(frames) + part;
        }
    }
}
