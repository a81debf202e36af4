using Weir.Lab.Formatting;
using Weir.Lab.Trials;

namespace Weir.Cli.Kit.Progress;

/// <summary>One line for each round, and one from time to time during a long window.</summary>
internal sealed class ProgressLines : ITrialObserver, IDisposable
{
    private readonly Lock _lock = new();
    private readonly TextWriter _output;
    private readonly TimeSpan _heartbeat;
    private readonly Timer _timer;
    private readonly List<string> _round = [];
    private TrialStep _step;
    private long _doneBefore;

    public ProgressLines(TextWriter output, TimeSpan heartbeat)
    {
        _output = output;
        _heartbeat = heartbeat;
        _timer = new Timer(static lines => ((ProgressLines)lines!).WriteHeartbeat(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    public void Started(TrialStep trialStep)
    {
        lock (_lock)
        {
            _step = trialStep;
            _doneBefore = trialStep.Arm.ItemsDone();
            if (trialStep.Index == 0)
            {
                _output.WriteLine("warming up");
            }
        }

        _timer.Change(_heartbeat, _heartbeat);
    }

    public void Ended(TrialStep trialStep, Window? window)
    {
        _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        if (window is null)
        {
            return;
        }

        lock (_lock)
        {
            _round.Add($"{trialStep.Arm.Name} {Numbers.Scaled(window.Rate)}/s");
            int arms = trialStep.Count / (trialStep.Rounds + 1);
            if (_round.Count == arms || window.IsPartial)
            {
                _output.WriteLine($"round {trialStep.Round} of {trialStep.Rounds}: {string.Join(", ", _round)}{(window.IsPartial ? " (stopped)" : "")}");
                _round.Clear();
            }
        }
    }

    public void Dispose() => _timer.Dispose();

    private void WriteHeartbeat()
    {
        lock (_lock)
        {
            string where = _step.Round == 0 ? "warming up" : $"round {_step.Round} of {_step.Rounds}";
            _output.WriteLine($"{where}: {_step.Arm.Name} has done {Numbers.Grouped(_step.Arm.ItemsDone() - _doneBefore)} items");
        }
    }
}
