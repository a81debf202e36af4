using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;

namespace Weir.Observability;

/// <summary>The counts of all runs, by label: those of the ended runs, and when somebody asks, those of the running ones. Thread-safe.</summary>
/// <param name="mostLabels">How many labels are kept. Further ones are counted together, so that names that never repeat do not fill the memory.</param>
internal sealed class RunTotals(int mostLabels)
{
    private readonly Lock _lock = new();
    private readonly Dictionary<IMeasuredRun, RunLabel> _running = [];
    private readonly Dictionary<RunLabel, RunSample> _ended = [];

    public void Begin(IMeasuredRun run)
    {
        lock (_lock)
        {
            BeginNeedsLock(run);
        }
    }

    /// <summary>Counts, from now on, the runs under way that are not counted yet, with all that they have done.</summary>
    public void BeginUnderWay()
    {
        if (StallWatch.Unseen() is not { } unseen)
        {
            return;
        }

        // Their labels are made before the lock is taken, because that runs the code of the tags' values.
        List<MeasuredRun> runs = unseen.ConvertAll(static run => new MeasuredRun(run));
        runs.ForEach(static run => _ = run.Label);
        lock (_lock)
        {
            foreach (MeasuredRun run in runs)
            {
                if (StallWatch.TrySee(run.Run))
                {
                    BeginNeedsLock(run);
                }
            }
        }
    }

    /// <summary>The label under which a run under way is counted, from now on if it was not.</summary>
    public RunLabel? LabelOf(LiveRun live)
    {
        MeasuredRun run = new(live);
        if (!live.IsSeen)
        {
            _ = run.Label;
        }

        lock (_lock)
        {
            if (StallWatch.TrySee(live))
            {
                BeginNeedsLock(run);
            }

            return _running.GetValueOrDefault(run);
        }
    }

    /// <summary>A run has ended, whether it was counted before or not. In one step it leaves the runs under way and is counted as one that has ended.</summary>
    /// <returns>The label under which it was counted; <see langword="null"/> if that was done before.</returns>
    public RunLabel? End(LiveRun live)
    {
        MeasuredRun run = new(live);
        if (!live.IsSeen)
        {
            _ = run.Label;
        }

        lock (_lock)
        {
            RunSample sample = run.Sample();
            if (!StallWatch.Remove(live))
            {
                return null;
            }

            if (!_running.ContainsKey(run))
            {
                BeginNeedsLock(run);
            }

            return EndNeedsLock(run, sample);
        }
    }

    /// <summary>A run has ended, and cannot be counted.</summary>
    public void Drop(LiveRun live)
    {
        lock (_lock)
        {
            StallWatch.Remove(live);
            _running.Remove(new MeasuredRun(live));
        }
    }

    /// <returns>The label under which the run was counted; <see langword="null"/> if it was not, or has ended before.</returns>
    public RunLabel? End(IMeasuredRun run, in RunSample sample)
    {
        lock (_lock)
        {
            return EndNeedsLock(run, sample);
        }
    }

    /// <summary>The sums of all labels. Those without a run are zero rather than absent, so that nobody takes their last value for the present one.</summary>
    /// <param name="read">What is asked for.</param>
    /// <param name="onlyRunning">Whether ended runs count no more.</param>
    public Dictionary<RunLabel, long> Sum(Func<RunSample, long> read, bool onlyRunning)
    {
        Dictionary<RunLabel, long> sums = [];
        lock (_lock)
        {
            foreach ((RunLabel label, RunSample sample) in _ended)
            {
                sums[label] = onlyRunning ? 0 : read(sample);
            }

            foreach ((IMeasuredRun run, RunLabel label) in _running)
            {
                sums[label] += read(run.Sample());
            }
        }

        return sums;
    }

    private void BeginNeedsLock(IMeasuredRun run)
    {
        RunLabel label = _ended.ContainsKey(run.Label) || _ended.Count < mostLabels ? run.Label : RunLabel.Overflow;
        _ended.TryAdd(label, default);
        _running.Add(run, label);
    }

    private RunLabel? EndNeedsLock(IMeasuredRun run, in RunSample sample)
    {
        // In one step, so that a counter never decreases.
        if (_running.Remove(run, out RunLabel? label))
        {
            RunSample sum = _ended[label];
            sum.Succeeded += sample.Succeeded;
            sum.Unsuccessful += sample.Unsuccessful;
            sum.Cancelled += sample.Cancelled;
            sum.TimedOut += sample.TimedOut;
            sum.Retries += sample.Retries;
            sum.Throttles += sample.Throttles;
            sum.Drains += sample.Drains;
            _ended[label] = sum;
        }

        return label;
    }
}
