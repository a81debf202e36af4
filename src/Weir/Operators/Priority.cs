namespace Weir.Operators;

/// <summary>Selects the overload of an operator where several are applicable. The highest priority wins.</summary>
/// <remarks>
/// <para>
/// A source that can be read both ways, such as a <c>DbSet</c>, is read asynchronously, because the other way blocks a thread. The shapes of calls have ranks.
/// First come calls with a token: those of a <see cref="ValueTask"/> (an async lambda is one, because it needs no wrapper then), of a <see cref="Task"/>, and,
/// for actions, of a value task whose result is discarded. Then the same without a token, and at last those that return no task. So a call that returns a task
/// is never taken for one whose result the task is, and an async lambda never becomes <c>async void</c>.
/// </para>
/// <para>
/// C# 12 knows no priorities. There, overloads whose last parameter is an array to be left out stand behind those without, and those with a span are not seen.
/// So what compiles without the overloads of a rank compiles with them, and means the same.
/// </para>
/// </remarks>
internal static class Priority
{
    public const int Asynchronous = 1;

    // The default, not written where there is no rank: sources that are read synchronously, and channels.
    public const int Synchronous = 0;

    // Of one rank against the one before it: more than there is between sources.
    public const int Rank = -2;

    // Behind all ranks.
    public const int TokenOnly = 20 * Rank;
}
