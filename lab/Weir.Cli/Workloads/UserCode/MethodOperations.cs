namespace Weir.Cli.Workloads.UserCode;

/// <summary>
/// Creates operations from methods of any shape. The delegate is bound to the method itself: nothing lies between the loop and the user's code, unless that
/// returns a lazy sequence, which is read to its end.
/// </summary>
internal static class MethodOperations
{
    /// <summary>Makes an operation.</summary>
    /// <param name="method">The method, without parameters or with a token.</param>
    /// <param name="target">The object; <see langword="null"/> for a static method.</param>
    /// <param name="stop">The token that it gets, if it takes one.</param>
    public static Operation Of(MethodInfo method, object? target, CancellationToken stop)
    {
        bool takesToken = method.GetParameters().Length == 1;
        Type result = method.ReturnType;
        Type type = result == typeof(void) ? (takesToken ? typeof(Action<CancellationToken>) : typeof(Action))
            : takesToken ? typeof(Func<,>).MakeGenericType(typeof(CancellationToken), result)
            : typeof(Func<>).MakeGenericType(result);
        Delegate call = target is null ? method.CreateDelegate(type) : method.CreateDelegate(type, target);
        Delegate own = !takesToken ? call
            : call is Action<CancellationToken> action ? () => action(stop)
            : (Delegate)typeof(MethodOperations).GetMethod(nameof(With), BindingFlags.NonPublic | BindingFlags.Static)!
                .MakeGenericMethod(result).Invoke(null, [call, stop])!;
        return DelegateOperations.Of(LazyResults.Read(own, result));
    }

    private static Func<T> With<T>(Func<CancellationToken, T> call, CancellationToken stop) => () => call(stop);
}
