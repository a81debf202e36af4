namespace Weir;

/// <summary>
/// Parallel operators over sequences. They are bounded and cancellable, return lists in source order, and need neither a task nor a copy per item.
/// </summary>
public static partial class ParallelOperators;

/// <summary>Selects the overload of an operator where several are applicable. The highest priority wins.</summary>
/// <remarks>
/// A source that can be read both ways, such as a <c>DbSet</c>, is read asynchronously, because the other way blocks a thread. The shapes of calls have ranks:
/// first come calls with a token, that return a <see cref="ValueTask"/> (an async lambda is one, because it needs no wrapper then) or a <see cref="Task"/>, then
/// the same without a token, and at last those that return no task. So a call that returns a task is never taken for one whose result the task is, and an async
/// lambda never becomes <c>async void</c>.
/// </remarks>
internal static class Priority
{
    public const int Asynchronous = 1;

    // The default, not written where there is no rank: sources that are read synchronously, and channels.
    public const int Synchronous = 0;

    // Of one rank against the one before it: more than there is between sources.
    public const int Rank = -2;
}
