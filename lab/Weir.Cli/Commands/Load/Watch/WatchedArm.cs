namespace Weir.Cli.Commands.Load.Watch;

/// <summary>One row of the view: an arm, and what it did since the last reading.</summary>
internal sealed class WatchedArm(string name, int limit, WatchMeter meter)
{
    private long _endedBefore;
    private long _lookedAt;

    public string Name => name;

    /// <summary>How many items may be in flight.</summary>
    public int Limit => limit;

    public string State { get; private set; } = "waiting";

    public bool IsRunning { get; private set; }

    /// <summary>The last reading, or null if there was none.</summary>
    public WatchReading? Reading { get; private set; }

    public void Begin(TrialStep step)
    {
        meter.Clear();
        IsRunning = true;
        State = step.Round == 0 ? "warming up" : $"round {step.Round} of {step.Rounds}";
        _endedBefore = meter.Ended;
        _lookedAt = Stopwatch.GetTimestamp();
    }

    public void End(TrialStep step, RoundRecord? round)
    {
        IsRunning = false;
        State = step.Round == 0 ? "warm" : round is { Partial: true } ? "stopped" : $"{step.Round} of {step.Rounds} done";
        if (round is not null)
        {
            // The rate of the whole window says more than that of its last part.
            Refresh(round.Rate);
        }
    }

    /// <summary>Reads the meter.</summary>
    public void Refresh(double? rate = null)
    {
        long now = Stopwatch.GetTimestamp();
        long ended = meter.Ended;
        double seconds = Stopwatch.GetElapsedTime(_lookedAt, now).TotalSeconds;
        rate ??= seconds > 0 ? (ended - _endedBefore) / seconds : 0;
        (_lookedAt, _endedBefore) = (now, ended);
        Lab.Latency.LatencyHistogram latencies = meter.Latencies();
        Reading = new WatchReading(
            rate.Value,
            meter.InFlight,
            TimeSpan.FromMicroseconds(latencies.ValueAtPercentile(50) / 1e3),
            TimeSpan.FromMicroseconds(latencies.ValueAtPercentile(99) / 1e3),
            TimeSpan.FromMicroseconds(latencies.Max / 1e3),
            meter.Errors);
    }
}
