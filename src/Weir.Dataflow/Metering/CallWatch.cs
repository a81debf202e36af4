using System.Collections.Concurrent;
using System.Diagnostics;

namespace Weir.Dataflow.Metering;

/// <summary>Tells listeners how long each call of a block took. A block has one from when somebody asks for that.</summary>
/// <remarks>
/// A message is known by its number. What its call threw is noted on the thread that has seen it, because that thread then reports the end.
/// </remarks>
internal sealed class CallWatch(BlockLabel label)
{
    [ThreadStatic]
    private static Exception? _error;

    private readonly ConcurrentDictionary<long, long> _began = new();

    /// <summary>The call of a message begins on this thread.</summary>
    /// <returns>What <see cref="Exit"/> restores.</returns>
    public Exception? Begin(long id)
    {
        _began[id] = Stopwatch.GetTimestamp();
        return Enter();
    }

    /// <summary>This thread deals with the result of a call that has ended, perhaps inside a call of another block.</summary>
    /// <returns>What <see cref="Exit"/> restores.</returns>
    public static Exception? Enter()
    {
        Exception? outer = _error;
        _error = null;
        return outer;
    }

    /// <summary>The call that this thread deals with has failed.</summary>
    public static void Failed(Exception error) => _error = error;

    /// <summary>This thread is through with a message, whose call has ended or is pending.</summary>
    public void Exit(long id, bool isDone, Exception? outer)
    {
        if (isDone && _began.TryRemove(id, out long began))
        {
            BlockMeter.Call(label, Stopwatch.GetElapsedTime(began), _error);
        }

        _error = outer;
    }
}
