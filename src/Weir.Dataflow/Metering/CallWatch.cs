using System.Collections.Concurrent;
using System.Diagnostics;
using Weir.Core.Metering;

namespace Weir.Dataflow.Metering;

/// <summary>Tells listeners of each call of a block. There is one only while somebody asks for that.</summary>
/// <remarks>
/// A message is known by its number. What its call ended with is remembered on the thread that has seen it, because that thread then reports the end.
/// </remarks>
internal sealed class CallWatch(BlockLabel label)
{
    [ThreadStatic]
    private static Ending _ending;

    private readonly ConcurrentDictionary<long, ActivityContext> _senders = new();
    private readonly ConcurrentDictionary<long, OpenCall> _open = new();

    /// <summary>A message comes. Its number is that of its place in the queue. Runs no code of listeners'.</summary>
    public void Sent(long id)
    {
        if (BlockTrace.HasListeners)
        {
            SafeCall.Invoke(static sent => sent.Senders[sent.Id] = Activity.Current?.Context ?? default, (Senders: _senders, Id: id));
        }
    }

    /// <summary>The call of a message begins on this thread.</summary>
    /// <returns>What <see cref="Left"/> restores.</returns>
    public Ending Begin(long id)
    {
        Ending outer = _ending with { Current = Activity.Current };
        _ending = default;
        ActivityContext? sender = _senders.TryRemove(id, out ActivityContext known) ? known : null;
        _open[id] = new OpenCall(BlockTrace.HasListeners ? BlockTrace.Start(label, sender) : null, Stopwatch.GetTimestamp());
        return outer;
    }

    /// <summary>An asynchronous call has ended, and this thread deals with its result.</summary>
    /// <returns>What <see cref="Left"/> restores.</returns>
    public Ending BeginEnd(long id)
    {
        Ending outer = _ending with { Current = Activity.Current };
        _ending = default;
        if (_open.TryGetValue(id, out OpenCall call) && call.Span is not null)
        {
            BlockTrace.SetCurrent(call.Span);
        }

        return outer;
    }

    /// <summary>The call that this thread deals with has failed, or was cancelled.</summary>
    public static void Failed(Exception? error, CallWatch? watch)
    {
        if (watch is not null)
        {
            _ending = new Ending(error, IsCancelled: error is null, null);
        }
    }

    /// <summary>The senders of messages are no longer known, because some were not recorded.</summary>
    public void ForgetSenders() => _senders.Clear();

    /// <summary>This thread leaves a message, whose call has ended or is pending.</summary>
    public void Left(long id, bool isDone, in Ending outer)
    {
        Ending ending = _ending;
        if (isDone && _open.TryRemove(id, out OpenCall call))
        {
            BlockMeter.Call(label, Stopwatch.GetElapsedTime(call.Began), ending.Error);
            if (call.Span is not null)
            {
                BlockTrace.End(call.Span, ending.Error, ending.IsCancelled);
            }
        }

        _ending = outer with { Current = null };
        BlockTrace.SetCurrent(outer.Current);
    }

    /// <summary>What a call on this thread ended with, and the span that was current around it.</summary>
    public readonly record struct Ending(Exception? Error, bool IsCancelled, Activity? Current);
}
