using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Weir.Core.Metering;
using Weir.Core.Threads;

namespace Weir.Core.Dispatch;

/// <summary>
/// The adaptive limit of one run, or of everything that shares one limit. It collects a sample of each completed call. At the end of a window, the law decides,
/// and the controller sets the limit.
/// </summary>
/// <remarks>
/// There is no lock: a sample takes a slot in the window by one atomic increment, and the thread that takes the last slot closes the window. Samples that
/// come while a window is being closed are dropped. A sample that is stored late lands in the next window, where it is as good as any other.
/// </remarks>
internal sealed class AdaptiveController
{
    // The word that slots are taken from: the window's number above, then a bit for a closed window, and the slot, offset so that it can start below zero.
    private const long FirstSlot = 1L << 30;
    private const long ClosedBit = 1L << 31;
    private const uint MostUnmeasured = 31;
    private const long SlotMask = ClosedBit - 1;

    // Immutable; the run, and what sets the limit, are set before the first call.
    private readonly AdaptiveNotifier? _notifier;
    private readonly TimeProvider _time;
    private readonly long _frequency;
    private readonly long _interval;
    private readonly double _target;
    private Pump? _run;
    private Action<int>? _setLimit;

    // Of the thread that closes the window: it has set the closed bit, and its write of the next window's word hands them on.
    private readonly AdaptiveLaw _law;

    // Atomic: each slot is written by the thread that took it, its latency last, and read by the one that closes the window.
    private readonly Sample[] _samples;

    // Atomic: written by the thread that closes the window, and of the window that is open by the one that takes its first slot; read by any thread.
    private int _needed;
    private long _opened;
    private long _firstStarted;
    private long _deadline = long.MaxValue;
    private int _limit;
    private double _latency;
    private double _likely;

    // Atomic: written by the thread that closes the window, read by any. Of how many calls that suspend one is measured, less one: 0, 1, 3 and so on.
    private uint _unmeasured;

    // Atomic: the word from which slots are taken. Written by every completion, so it stands apart from fields that are only read.
    private PaddedLong _next;

    public AdaptiveController(AdaptiveSettings settings)
    {
        _law = new AdaptiveLaw(settings);
        _time = settings.TimeProvider;
        _frequency = _time.TimestampFrequency;
        _interval = Math.Max(1, (long)(settings.SampleInterval.TotalSeconds * _time.TimestampFrequency));
        _samples = new Sample[_law.MaxSamples];
        _target = settings.TargetLatency is { } target ? target.TotalSeconds * _time.TimestampFrequency : double.PositiveInfinity;
        Quick = Math.Max(1, _time.TimestampFrequency / 1_000_000);
        _needed = _law.Samples;
        _limit = _law.Limit;
        _opened = _time.GetTimestamp();
        _next.Value = FirstSlot;
        _notifier = settings.OnChange is { } onChange ? new AdaptiveNotifier(onChange, _limit) : null;
    }

    /// <summary>How many calls may be in flight.</summary>
    public int Limit => Volatile.Read(ref _limit);

    /// <summary>How many windows have been decided on.</summary>
    public int Windows { get; private set; }

    public AdaptiveLaw Law => _law;

    /// <summary>The clock that measures the calls.</summary>
    public TimeProvider Time => _time;

    /// <summary>The mean latency of the last window's calls that succeeded, in ticks of the clock; 0 while there is none.</summary>
    public double Latency => Volatile.Read(ref _latency);

    /// <summary>That mean latency as a time; zero while there is none. Runs no user code.</summary>
    public TimeSpan MeanLatency => ToTime(Latency);

    /// <summary>How long nearly all calls take: the mean latency and two standard deviations, in ticks of the clock; 0 while there is none.</summary>
    public double LikelyLatency => Volatile.Read(ref _likely);

    /// <summary>A time in ticks of the clock.</summary>
    public double ToTicks(TimeSpan time) => time.TotalSeconds * _frequency;

    /// <summary>Ticks of the clock as a time.</summary>
    public TimeSpan ToTime(double ticks) => TimeSpan.FromSeconds(ticks / _frequency);

    /// <summary>The longest time of a quick call, in ticks of the clock.</summary>
    public long Quick { get; }

    /// <summary>Makes this the limit of a run. Called once, before the run starts.</summary>
    public void Attach(Pump run)
    {
        _run = run;
        _setLimit = run.SetLimit;
        _notifier?.SetContext(run.Context);
    }

    /// <summary>Makes this what moves another limit, whose calls are given to <see cref="Record"/>. Called once, before the first call.</summary>
    public void Attach(Action<int> setLimit) => _setLimit = setLimit;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public long Timestamp() => _time.GetTimestamp();

    /// <summary>
    /// Whether the call of an item is measured. Where more calls end than anybody needs to know of, a clock that is read twice for each would be most of what
    /// they cost. So some are left out, and chance says which, because every fourth item might be a special one.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool Measures(long index) => ((uint)((ulong)index * 0x9E3779B97F4A7C15 >> 32) & Volatile.Read(ref _unmeasured)) == 0;

    /// <summary>A call of the run has ended.</summary>
    /// <param name="started">When it started, by <see cref="Timestamp"/>.</param>
    /// <param name="succeeded">Whether it returned a result.</param>
    /// <param name="cancellationToken">
    /// The item's token. If it is cancelled, the run has stopped, or the item was given up and reported to <see cref="TimedOut"/>: there is no sample.
    /// </param>
    public void Ended(long started, bool succeeded, CancellationToken cancellationToken)
    {
        if (!cancellationToken.IsCancellationRequested)
        {
            Record(started, _time.GetTimestamp(), _run!.Live, succeeded);
        }
    }

    /// <summary>Several consecutive calls have succeeded.</summary>
    public void Ended(long started, long ended, int count, CancellationToken cancellationToken)
    {
        if (!cancellationToken.IsCancellationRequested)
        {
            Record(started, ended, _run!.Live, succeeded: true, count);
        }
    }

    /// <summary>An item of the run was given up at its time limit.</summary>
    public void TimedOut(TimeSpan timeout)
    {
        long now = _time.GetTimestamp();
        Record(now - (long)(timeout.TotalSeconds * _time.TimestampFrequency), now, _run!.Live, succeeded: false);
    }

    /// <summary>Takes the sample of a completed call.</summary>
    /// <param name="started">When it started.</param>
    /// <param name="ended">When it ended.</param>
    /// <param name="inFlight">How many calls were in flight when it ended, itself included.</param>
    /// <param name="succeeded">Whether it returned a result.</param>
    /// <param name="count">How many consecutive calls the sample represents.</param>
    public void Record(long started, long ended, int inFlight, bool succeeded, int count = 1)
    {
        long word = Interlocked.Add(ref _next.Value, count);
        if ((word & ClosedBit) != 0)
        {
            return;
        }

        long slot = (word & SlotMask) - FirstSlot - count;
        if (slot < 0)
        {
            if (slot + count >= 0)
            {
                Volatile.Write(ref _opened, ended);
            }

            return;
        }

        int needed = Volatile.Read(ref _needed);
        if (slot >= needed)
        {
            return;
        }

        ref Sample sample = ref _samples[slot];
        sample.Ended = ended;
        sample.InFlight = inFlight;
        sample.Count = count;
        Volatile.Write(ref sample.Latency, succeeded ? Math.Max(1, (ended - started) / count) : -1);
        if (slot == 0)
        {
            _firstStarted = started;
            Volatile.Write(ref _deadline, ended + _interval);
        }

        if (slot + count >= needed || ended >= Volatile.Read(ref _deadline))
        {
            Close(word >> 32, ended);
        }
    }

    private void Close(long number, long now)
    {
        long word = Volatile.Read(ref _next.Value);
        while (true)
        {
            if (word >> 32 != number || (word & ClosedBit) != 0)
            {
                // Another thread closed it.
                return;
            }

            long seen = Interlocked.CompareExchange(ref _next.Value, word | ClosedBit, word);
            if (seen == word)
            {
                break;
            }

            word = seen;
        }

        int slots = (int)Math.Min((word & SlotMask) - FirstSlot, _needed);
        AdaptiveWindow window = Summarize(slots, now);
        _law.Decide(window);
        Windows++;
        if (window.Latency > 0)
        {
            Volatile.Write(ref _latency, window.Latency);
            Volatile.Write(ref _likely, window.Latency + (2 * window.Deviation));
        }

        int limit = _law.Limit;
        if (limit != _limit)
        {
            Volatile.Write(ref _limit, limit);
            _setLimit?.Invoke(limit);
            _notifier?.Changed(limit);
        }

        Thin(now - _opened, slots);
        _opened = now;
        Volatile.Write(ref _needed, _law.Samples);
        Volatile.Write(ref _deadline, long.MaxValue);
        Volatile.Write(ref _next.Value, ((number + 1) << 32) | (FirstSlot - Math.Min(_law.Skip, FirstSlot)));
    }

    /// <summary>Measures fewer calls if samples come faster than one in four microseconds, and more again if they come more slowly than one in 16.</summary>
    private void Thin(long elapsed, int samples)
    {
        // A clock that stands still says nothing.
        if (elapsed > 0 && elapsed < 4 * Quick * samples)
        {
            Volatile.Write(ref _unmeasured, Math.Min((2 * _unmeasured) + 1, MostUnmeasured));
        }
        else if (elapsed > 16 * Quick * samples)
        {
            Volatile.Write(ref _unmeasured, _unmeasured / 2);
        }
    }

    private AdaptiveWindow Summarize(int slots, long now)
    {
        double clip = _law.Clip;
        int count = 0;
        int succeeded = 0;
        int missed = 0;
        long longest = 1;
        double inFlight = 0;
        double squares = 0;
        WindowMean mean = default;
        foreach (ref Sample sample in _samples.AsSpan(0, slots))
        {
            long latency = Volatile.Read(ref sample.Latency);
            sample.Latency = 0;
            if (latency == 0)
            {
                // Its writer has taken the slot but not stored anything yet.
                continue;
            }

            count += sample.Count;
            inFlight += (double)sample.InFlight * sample.Count;
            if (latency > 0)
            {
                missed += latency > _target ? sample.Count : 0;
                succeeded += sample.Count;
                longest = Math.Max(longest, latency);
                double counted = Math.Min(latency, clip);
                squares += counted * counted * sample.Count;
                mean.Add(counted, sample.Count, sample.Ended);
            }
        }

        // Time with nothing in flight is not latency. So count no time before the first call, and no more than the longest call took.
        double turnover = count == 0 ? 0 : Math.Min(longest, (now - Math.Max(_opened, _firstStarted)) * (inFlight / count) / count);
        return new AdaptiveWindow
        {
            Count = count,
            Failed = count - succeeded,
            Missed = missed,
            InFlight = count == 0 ? 0 : inFlight / count,
            Latency = mean.Value,
            Deviation = succeeded == 0 ? 0 : Math.Sqrt(Math.Max(0, (squares / succeeded) - (mean.Value * mean.Value))),
            Error = mean.Error(out int moments),
            Moments = moments,
            Turnover = Math.Max(1, turnover),
        };
    }

    private struct Sample
    {
        /// <summary>In ticks; -1 for a failure, 0 if nothing is stored yet.</summary>
        public long Latency;
        public long Ended;
        public int InFlight;

        /// <summary>How many calls it represents.</summary>
        public int Count;
    }

    [StructLayout(LayoutKind.Explicit, Size = 192)]
    private struct PaddedLong
    {
        [FieldOffset(64)]
        public long Value;
    }
}

/// <summary>
/// Measures the calls that a worker makes one after the other. Calls of a microsecond or less are measured several at a time, so that the clock costs
/// them nothing; one sample then represents all of them, with their mean.
/// </summary>
/// <remarks>
/// It is a mutable part of the call struct, which a worker copies for each chunk, so it lives as long as the chunk. Calls that are measured but not reported
/// at its end, which are fewer than half of the chunk and quick, are left out.
/// </remarks>
internal struct AdaptiveMeter(AdaptiveController controller)
{
    private const int MostInARow = 128;

    private long _started;
    private int _done;
    private int _inARow;

    public readonly AdaptiveController Controller => controller;

    /// <summary>Whether no call is being measured, nor a group of them.</summary>
    public readonly bool IsIdle => _started == 0;

    /// <summary>A call begins.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Begin()
    {
        if (_started == 0)
        {
            _started = controller.Timestamp();
        }
    }

    /// <summary>The call has returned its result synchronously.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Completed(CancellationToken cancellationToken)
    {
        if (++_done >= _inARow)
        {
            Report(cancellationToken);
        }
    }

    /// <summary>The call has returned, but has not succeeded yet.</summary>
    /// <returns>When it started.</returns>
    public long Suspended(CancellationToken cancellationToken)
    {
        if (_done > 0)
        {
            // After quick calls, which did not read the clock themselves: the time until here counts as theirs.
            Report(cancellationToken);
        }

        long started = _started;
        _started = 0;
        _inARow = 0;
        return started;
    }

    /// <summary>The call has thrown.</summary>
    public void Failed(CancellationToken cancellationToken) => controller.Ended(Suspended(cancellationToken), succeeded: false, cancellationToken);

    private void Report(CancellationToken cancellationToken)
    {
        long now = controller.Timestamp();
        controller.Ended(_started, now, _done, cancellationToken);
        _inARow = now - _started <= _done * controller.Quick ? Math.Clamp(2 * _inARow, 1, MostInARow) : 1;
        _started = now;
        _done = 0;
    }
}

/// <summary>
/// Reports changes of the limit to the user: one call at a time, in order, on the thread pool. Changes that come during a call are reported
/// together, so nothing queues up behind a slow callback.
/// </summary>
internal sealed class AdaptiveNotifier(Func<int, int, ValueTask> callback, int initial) : IThreadPoolWorkItem
{
    // Set before the run starts.
    private ExecutionContext? _context;

    // Of the one call to the callback that runs.
    private int _reported = initial;

    // Atomic: the limit now, and how many changes have not been reported. Who adds the first change queues the call, which goes back to zero before it ends.
    private int _now = initial;
    private int _pending;

    public void SetContext(ExecutionContext? context) => _context = context;

    /// <summary>Called by one thread at a time.</summary>
    public void Changed(int limit)
    {
        Volatile.Write(ref _now, limit);
        if (Interlocked.Increment(ref _pending) == 1)
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    // Nobody waits for it. If it fails, the next change is reported from the limit that was reported last; without the zero, none would be queued any more.
    void IThreadPoolWorkItem.Execute() => Unattended.Run(
        this, static notifier => notifier.Notify(), static (notifier, _) => Interlocked.Exchange(ref notifier._pending, 0));

    private void Notify()
    {
        if (_context is { } context)
        {
            ExecutionContext.Run(context, static notifier => _ = ((AdaptiveNotifier)notifier!).NotifyAsync(), this);
        }
        else
        {
            _ = NotifyAsync();
        }
    }

    private async Task NotifyAsync()
    {
        int seen;
        do
        {
            seen = Volatile.Read(ref _pending);
            int now = Volatile.Read(ref _now);
            int before = _reported;
            if (now != before)
            {
                _reported = now;
                try
                {
                    await callback(before, now).ConfigureAwait(false);
                }
                catch (Exception)
                {
                    // Nobody asked for the outcome, and a callback's failure must not fail the run. Documented at the option.
                }
            }
        }
        while (Interlocked.Add(ref _pending, -seen) != 0);
    }
}

/// <summary>A started call. It is measured when its result is taken, unless that has already been done.</summary>
internal struct AdaptivePending<TResult, TPending> : IPending<TResult>
    where TPending : struct, IPending<TResult>
{
    private TPending _inner;
    private readonly AdaptiveController? _controller;
    private readonly long _started;
    private readonly CancellationToken _cancellationToken;

    public AdaptivePending(TPending inner) => _inner = inner;

    public AdaptivePending(TPending inner, AdaptiveController controller, long started, CancellationToken cancellationToken)
    {
        _inner = inner;
        _controller = controller;
        _started = started;
        _cancellationToken = cancellationToken;
    }

    public readonly bool IsCompleted
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _inner.IsCompleted;
    }

    public readonly bool IsCompletedSuccessfully
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _inner.IsCompletedSuccessfully;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly TResult GetResult() => _controller is null ? _inner.GetResult() : Measure();

    public readonly Task? Until => null;

    public readonly WaitKind WaitsFor => default;

    public readonly bool CanBeParked => false;

    public readonly Task AsTask() => _inner.AsTask();

    public void BecomeTask() => _inner.BecomeTask();

    public readonly void OnCompleted(Action continuation) => _inner.OnCompleted(continuation);

    private readonly TResult Measure()
    {
        bool succeeded = false;
        try
        {
            TResult result = _inner.GetResult();
            succeeded = true;
            return result;
        }
        finally
        {
            _controller!.Ended(_started, succeeded, _cancellationToken);
        }
    }
}

/// <summary>Wraps a call and reports its latency to the adaptive limit.</summary>
internal struct AdaptiveCall<TItem, TResult, TPending, TCall>(TCall inner, AdaptiveController controller) : ICall<TItem, AdaptivePending<TResult, TPending>>
    where TPending : struct, IPending<TResult>
    where TCall : struct, ICall<TItem, TPending>
{
    private AdaptiveMeter _meter = new(controller);

    public bool UsesInvokeInto => false;

    public AdaptivePending<TResult, TPending> Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken)
    {
        if (_meter.IsIdle && !_meter.Controller.Measures(index))
        {
            return new(inner.Invoke(item, index, isFirst, cancellationToken));
        }

        _meter.Begin();
        TPending pending;
        try
        {
            pending = inner.Invoke(item, index, isFirst, cancellationToken);
        }
        catch
        {
            _meter.Failed(cancellationToken);
            throw;
        }

        if (!pending.IsCompletedSuccessfully)
        {
            return new(pending, _meter.Controller, _meter.Suspended(cancellationToken), cancellationToken);
        }

        _meter.Completed(cancellationToken);
        return new(pending);
    }

    public void InvokeInto(TItem item, long index, bool isFirst, CancellationToken cancellationToken, ref AdaptivePending<TResult, TPending> pending) =>
        pending = Invoke(item, index, isFirst, cancellationToken);

    public readonly void GivenUp(TItem? item, long index) => inner.GivenUp(item, index);

    public readonly void AddTo(ref RunSample sample) => inner.AddTo(ref sample);
}
