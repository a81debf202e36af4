namespace Weir.Operators;

/// <summary>Which overload of an operator is meant where several fit. The highest one wins.</summary>
/// <remarks>
/// A source that can be read both ways, as a <c>DbSet</c> can, is read asynchronously: the other way blocks a thread. An async lambda fits calls that return a
/// <see cref="ValueTask"/> and those that return a <see cref="Task"/>; it becomes the former, which needs nothing around it. A call that returns a <see cref="Task"/> fits only the latter.
/// </remarks>
internal static class Priority
{
    public const int Asynchronous = 1;

    // The default, which is not written: calls that return a ValueTask, sources that are read synchronously, and channels.
    public const int TaskAsynchronous = -1;

    public const int Task = -2;
}
