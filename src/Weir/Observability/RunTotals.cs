using Weir.Core;
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
        using (_lock.Hold())
        {
            RunLabel label = _ended.ContainsKey(run.Label) || _ended.Count < mostLabels ? run.Label : RunLabel.Overflow;
            _ended.TryAdd(label, default);
            _running.Add(run, label);
        }
    }

    /// <returns>The label under which the run was counted; <see langword="null"/> if it was not, or has ended before.</returns>
    public RunLabel? End(IMeasuredRun run, in RunSample sample)
    {
        using (_lock.Hold())
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

    /// <summary>The sums of all labels. Those without a run are zero rather than absent, so that nobody takes their last value for the present one.</summary>
    /// <param name="read">What is asked for.</param>
    /// <param name="onlyRunning">Whether ended runs count no more.</param>
    public Dictionary<RunLabel, long> Sum(Func<RunSample, long> read, bool onlyRunning)
    {
        Dictionary<RunLabel, long> sums = [];
        using (_lock.Hold())
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
}
