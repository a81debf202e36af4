namespace Weir.Runtimes;

/// <summary>Never called: what <see cref="Operators.Precompiled"/> is for the operators, for the runtimes.</summary>
internal static class PrecompiledRuntimes
{
    private static readonly Type[] Types =
    [
        typeof(AutoCall<object, object>), typeof(AutoCall<object, int>), typeof(AutoCall<int, object>), typeof(AutoCall<int, int>),
        typeof(AutoArrayCall<object, object>), typeof(AutoArrayCall<object, int>), typeof(AutoArrayCall<int, object>), typeof(AutoArrayCall<int, int>),
        typeof(RangeSource<object, object>), typeof(RangeSource<object, int>), typeof(RangeSource<int, object>), typeof(RangeSource<int, int>),
        typeof(ItemRange<object, object>), typeof(ItemRange<object, int>), typeof(ItemRange<int, object>), typeof(ItemRange<int, int>),
        typeof(DirectCall<object, object>), typeof(DirectCall<object, int>), typeof(DirectCall<int, object>), typeof(DirectCall<int, int>),
    ];

    public static void All(object[] objects, int[] numbers)
    {
        _ = Types;
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
