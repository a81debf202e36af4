namespace Weir.Operators;

/// <summary>Selects the overload of an operator where several are applicable. The highest priority wins.</summary>
/// <remarks>
/// A source that can be read both ways, such as a <c>DbSet</c>, is read asynchronously, because the other way blocks a thread. An async lambda converts to
/// calls that return a <see cref="ValueTask"/> and to calls that return a <see cref="Task"/>; the former is chosen, because it needs no wrapper. A call that
/// returns a <see cref="Task"/> converts only to the latter.
/// </remarks>
internal static class Priority
{
    public const int Asynchronous = 1;

    // 0, the default, is not written: calls that return a ValueTask, sources that are read synchronously, and channels.
    public const int TaskAsynchronous = -1;

    public const int Task = -2;
}
