namespace Weir.Runtimes;

/// <summary>Never called: what <see cref="Operators.Precompiled"/> is for the operators, for the runtimes.</summary>
internal static class PrecompiledRuntimes
{
    public static void All(object[] objects, int[] numbers)
    {
        Calls<object, object>(objects);
        Calls<object, int>(objects);
        Calls<int, object>(numbers);
        Calls<int, int>(numbers);
    }

    private static void Calls<TItem, TResult>(TItem[] items)
    {
        Func<TItem, CancellationToken, ValueTask<TResult>> call = static (_, _) => default;
        _ = new DirectRuntime().ProcessManyAsync(items, call);
        _ = new ConcurrentRuntime().ProcessManyAsync(items, call);
        _ = new ParallelRuntime().ProcessManyAsync(items, call);
        _ = new AutoRuntime().ProcessManyAsync(items, call);
    }
}
