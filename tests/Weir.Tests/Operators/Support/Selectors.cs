using System.Runtime.CompilerServices;

namespace Weir.Tests.Operators.Support;

/// <summary>What tests do with an item.</summary>
internal static class Selectors
{
    /// <summary>Tests whose work could hang end by their own guards first; this limit is for the rest.</summary>
    public const int Timeout = 90_000;

    public static ValueTask<int> Twice(int item, CancellationToken token) => new(item * 2);

    public static async ValueTask<int> TwiceAfterYield(int item, CancellationToken token)
    {
        await Task.Yield();
        return item * 2;
    }

    /// <summary>Throws from a method whose name a test finds in the stack trace.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static ValueTask<int> ThrowHere(int item) => throw new TestException($"item {item}");

    public static async ValueTask<int> ThrowHereAfterYield(int item)
    {
        await Task.Yield();
        return await ThrowHere(item);
    }
}
