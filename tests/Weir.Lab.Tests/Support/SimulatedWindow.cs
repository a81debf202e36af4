using System.Diagnostics;
using Weir.Lab.Latency;
using Weir.Lab.Workers;

namespace Weir.Lab.Tests.Support;

/// <summary>A window whose workers are the lab's and whose operations last as long as a test says, on a clock of its own.</summary>
internal sealed class SimulatedWindow : IDisposable
{
    private readonly TickingClock _clock = new();
    private readonly WindowState _state;
    private readonly WorkerSlot[] _slots;
    private readonly (long From, long Until, int Count)[] _calls;
    private readonly bool[] _hasEnded;
    private readonly bool[] _hasEndedWithin;
    private readonly bool[] _hasLeft;
    private readonly Func<int, long, double> _duration;
    private readonly TimeSpan _length;

    private SimulatedWindow(TimeSpan length, int workers, int batch, Func<int, long, double> duration)
    {
        _length = length;
        _duration = duration;
        _state = new WindowState(workers, new InFlightMeter(), _clock);
        _slots = [.. Enumerable.Range(0, workers).Select(i => new WorkerSlot(
            _state, new WorkerContext("all", i, i, i, _state.InFlight, _state.Stopping), batch,
            new LatencyRecorder(new LatencyHistogram(), null, null, isShared: false), null, null))];
        _calls = new (long, long, int)[workers];
        _hasEnded = new bool[workers];
        _hasEndedWithin = new bool[workers];
        _hasLeft = new bool[workers];
    }

    /// <summary>
    /// Runs a window as the lab does: it begins when each worker has ended an operation, and ends when its time is over and each has ended one in it.
    /// </summary>
    /// <param name="length">How long it is.</param>
    /// <param name="workers">How many workers there are.</param>
    /// <param name="batch">How many operations go between two looks at the clock.</param>
    /// <param name="duration">How long so many operations of a worker take, in nanoseconds.</param>
    public static WindowOutcome Run(TimeSpan length, int workers, int batch, Func<int, long, double> duration)
    {
        using SimulatedWindow window = new(length, workers, batch, duration);
        return window.Run();
    }

    public void Dispose() => _state.Dispose();

    private WindowOutcome Run()
    {
        _state.Phase = WindowPhase.Ramp;
        for (int i = 0; i < _slots.Length; i++)
        {
            Begin(i);
        }

        while (!Array.TrueForAll(_hasEnded, static e => e))
        {
            Step();
        }

        // Some time after the last of them, as a thread that was woken by it would.
        MoveTo(_clock.Now + Clock.Ticks(TimeSpan.FromMicroseconds(30)));
        _state.BeginMeasuring();
        MoveTo(_state.Begin + Clock.Ticks(_length));
        while (!Array.TrueForAll(_hasEndedWithin, static e => e))
        {
            Step();
        }

        _state.EndMeasuring();
        while (!Array.TrueForAll(_hasLeft, static l => l))
        {
            Step();
        }

        return new WindowOutcome
        {
            Begin = _state.Begin,
            End = _state.End,
            Seconds = Clock.Nanoseconds(_state.Begin, _state.End) / 1e9,
            Slots = _slots,
            IsPaced = false,
            IsWhole = false,
            InFlight = new InFlightDepth(_slots.Length, _slots.Length, false),
            Resources = default,
            Cores = 0,
            Whole = default,
            Timeline = [],
            Troubles = [],
            IsPartial = false,
        };
    }

    private void MoveTo(long time)
    {
        while (_calls.Min(static c => c.Until) <= time)
        {
            Step();
        }

        _clock.Now = time;
    }

    // The operation that ends first does so.
    private void Step()
    {
        int worker = Array.IndexOf(_calls, _calls.MinBy(static c => c.Until));
        (long from, long until, int count) = _calls[worker];
        _clock.Now = until;
        _slots[worker].Done(count, from, until);
        _hasEnded[worker] = true;
        _hasEndedWithin[worker] |= _state.Phase == WindowPhase.Measure;
        _hasLeft[worker] |= _state.Phase == WindowPhase.Leave;
        Begin(worker);
    }

    private void Begin(int worker)
    {
        int count = _slots[worker].Next();
        _calls[worker] = (_clock.Now, _clock.Now + Math.Max(1, (long)(_duration(worker, count) * Stopwatch.Frequency / 1e9)), count);
    }
}
