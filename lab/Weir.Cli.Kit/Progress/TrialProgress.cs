namespace Weir.Cli.Kit.Progress;

/// <summary>Reports the progress of trials: a bar on a terminal; elsewhere one line for each round, and one from time to time during a long window.</summary>
internal sealed class TrialProgress : ITrialObserver, IDisposable
{
    private static readonly TimeSpan BarPatience = TimeSpan.FromSeconds(2);

    private readonly Lock _lock = new();
    private readonly RunProgress _progress;
    private readonly TimeSpan _period;
    private readonly Timer _timer;
    private readonly List<string> _round = [];
    private TrialStep _step;
    private long _doneBefore;

    private TrialProgress(RunProgress progress, TimeSpan heartbeat)
    {
        _progress = progress;
        _period = progress.HasBar ? BarPatience : heartbeat;
        _timer = new Timer(static trials => ((TrialProgress)trials!).Within(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    private string Where => _step.Round == 0 ? "warming up" : $"round {_step.Round} of {_step.Rounds}";

    /// <summary>Runs trials, and shows their progress unless quiet output was requested.</summary>
    public static Task<TrialReport> RunAsync(CliHost host, bool quiet, Func<ITrialObserver, Task<TrialReport>> run) =>
        RunProgress.RunAsync(host, quiet, async progress =>
        {
            using TrialProgress trials = new(progress, host.Load.Heartbeat);
            return await run(trials);
        });

    public void Started(TrialStep trialStep)
    {
        lock (_lock)
        {
            _step = trialStep;
            _doneBefore = trialStep.Arm.ItemsDone();
            _progress.Begin($"{Where}{(trialStep.Round == 0 ? "" : ":")} {trialStep.Arm.Name}", trialStep.Index, trialStep.Count);
            if (trialStep.Index == 0)
            {
                _progress.WriteStep(Where);
            }
        }

        _timer.Change(_period, _period);
    }

    public void Ended(TrialStep trialStep, RoundRecord? round)
    {
        _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        lock (_lock)
        {
            _progress.Move(trialStep.Index + 1);
            if (round is null)
            {
                return;
            }

            _round.Add($"{trialStep.Arm.Name} {Numbers.Scaled(round.Rate)}/s");
            if (_round.Count == trialStep.Count / (trialStep.Rounds + 1) || round.Partial)
            {
                _progress.WriteStep($"{Where}: {string.Join(", ", _round)}{(round.Partial ? " (stopped)" : "")}");
                _round.Clear();
            }
        }
    }

    public void Dispose() => _timer.Dispose();

    private void Within()
    {
        lock (_lock)
        {
            long done = _step.Arm.ItemsDone() - _doneBefore;
            _progress.Move(_step.Index + Math.Clamp((double)done / _step.Arm.Expected.Count, 0, 0.99));
            _progress.WriteStep($"{Where}: {_step.Arm.Name} has done {Numbers.Grouped(done)} items");
        }
    }
}
