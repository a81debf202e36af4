using System.Diagnostics;

namespace Weir.Runtimes;

/// <content>The conclusions from the figures.</content>
internal sealed partial class AutoPilot
{
    private const int MostDecisions = 64;

    private static readonly double Tiny = Stopwatch.Frequency / 50e6;

    // How many times as long tiny items may appear to take for reasons outside the items: memory that is touched for the first time, which delays all of them;
    // and a garbage collection, or a thread that another process delays, which delays some. If they take longer than that, the cause is the items themselves.
    private const double DisturbedAll = 4;
    private const double DisturbedSome = 5;

    private AutoSample _known;

    // Whether items run one after the other because they are tiny.
    private bool _isTiny;

    /// <summary>Evaluates the figures since the last look. Changes the mode if they have agreed twice, or at once if asked to.</summary>
    private void EvaluateNeedsLock(long now, bool atOnce)
    {
        AssertInvariants();
        AutoMode mode = Choose(out FormattableString rule, out bool isTiny);
        _known = _sample;
        _lastLook = now;
        if (mode == _mode)
        {
            _candidate = null;
        }
        else if (atOnce || (_candidate == mode && now - _lastChange >= Dwell))
        {
            int inFlight = Waits(mode) ? Math.Max(FirstInFlight, _inFlight) : _threads;
            SwitchNeedsLock(mode, inFlight, $"{rule}: {_known}");
            _isTiny = isTiny;
        }
        else
        {
            _candidate = mode;
        }

        _sample = default;
    }

    private static bool Waits(AutoMode mode) => mode is AutoMode.Concurrent or AutoMode.Mixed or AutoMode.Blocking;

    private AutoMode Choose(out FormattableString rule, out bool isTiny)
    {
        isTiny = false;
        double perItem = _sample.PerItem;
        double left = (_count - _returned) * perItem;
        if (_sample.Suspended > 0 || _waiting > 0)
        {
            bool mostly = _sample.Share >= MostlySuspending;
            rule = mostly ? (FormattableString)$"the items wait" : $"some items wait and others compute";
            return mostly ? AutoMode.Concurrent : AutoMode.Mixed;
        }

        if (_sample.CpuShare < Waiting && perItem >= HandOver)
        {
            rule = $"the items hold their thread while they wait";
            return AutoMode.Blocking;
        }

        if (_threads == 1 || _budget.InFlight == 1)
        {
            rule = $"there is one thread";
            return AutoMode.Direct;
        }

        bool wasTiny = _isTiny && (_mode is AutoMode.Probe or AutoMode.Direct);
        if (_sample.Quickest < (wasTiny ? DisturbedAll * Tiny : Tiny) && perItem < DisturbedSome * Tiny)
        {
            isTiny = true;
            rule = $"an item takes no longer than storing its outcome, and two threads only hinder each other there";
            return AutoMode.Direct;
        }

        if (left < HandOver)
        {
            rule = $"what is left takes {new AutoTime(left)}, less than a hand-over";
            return AutoMode.Direct;
        }

        rule = $"the items compute";
        return AutoMode.Parallel;
    }

    private void SwitchNeedsLock(AutoMode mode, int inFlight, FormattableString reason)
    {
        AutoMode from = _mode;
        _mode = mode;
        _candidate = null;
        _lastChange = Stopwatch.GetTimestamp();
        if (!Waits(from) || !Waits(mode))
        {
            _latency = new AutoLatency { IsRising = true };
        }

        _inFlight = mode == AutoMode.Direct ? 1 : Math.Clamp(inFlight, 1, _budget.InFlight);
        _executor.UsesTeam = mode == AutoMode.Blocking || (mode == AutoMode.Parallel && _sample.PerItem >= TeamThreshold);
        ApplyNeedsLock();
        RecordNeedsLock(from, reason);
    }

    /// <summary>Takes the call's share of the threads, which changes as other calls come and go.</summary>
    private void ShareNeedsLock()
    {
        int threads = _budget.Threads;
        if (threads == _threads)
        {
            return;
        }

        _threads = threads;
        if (_mode is AutoMode.Probe or AutoMode.Parallel)
        {
            _inFlight = Math.Min(threads, _budget.InFlight);
        }

        ApplyNeedsLock();
        RecordNeedsLock(_mode, $"the runtime has {_budget.Calls} calls running, which share its threads");
    }

    private void MoveNeedsLock(int inFlight, FormattableString reason)
    {
        bool isCut = inFlight < _inFlight;
        _inFlight = inFlight;
        ApplyNeedsLock();

        // Do not record every small step upwards.
        if (isCut || _inFlight >= _recordedInFlight * 1.5 || _inFlight == _budget.InFlight)
        {
            RecordNeedsLock(_mode, reason);
        }
    }

    private void ApplyNeedsLock()
    {
        _executor.SetThreads(_mode switch
        {
            AutoMode.Direct => 1,
            AutoMode.Blocking => _inFlight,
            _ => _threads,
        });

        // Under the lock, so that the later of two changes takes effect. No user code runs under it.
        if (_run is not null && _run.Limit != _inFlight)
        {
            _run.SetLimit(_inFlight);
        }
    }

    private void RecordNeedsLock(AutoMode from, FormattableString reason)
    {
        _recordedInFlight = _inFlight;
        if (_steps.Count == MostDecisions)
        {
            _steps.RemoveAt(1);
        }

        AutoDecision decision = new()
        {
            At = Stopwatch.GetElapsedTime(_started),
            Items = _ended,
            From = from,
            To = _mode,
            Threads = _executor.Threads,
            InFlight = _inFlight,
            Reason = "",
        };
        _steps.Add(new AutoStep(decision, reason));
    }

    [Conditional("DEBUG")]
    private void AssertInvariants()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "The figures are read and changed under the lock.");
        Debug.Assert(_inFlight >= 1 && _inFlight <= _budget.InFlight, "The budget is a bound.");
    }
}
