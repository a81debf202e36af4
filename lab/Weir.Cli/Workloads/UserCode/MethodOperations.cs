namespace Weir.Cli.Workloads.UserCode;

/// <summary>
/// Creates operations from methods of any shape. The delegate is bound to the method itself: nothing lies between the loop and the user's code.
/// </summary>
internal static class MethodOperations
{
    /// <summary>Makes an operation.</summary>
    /// <param name="method">The method, without parameters or with a token.</param>
    /// <param name="target">The object; <see langword="null"/> for a static method.</param>
    /// <param name="stop">The token that it gets, if it takes one.</param>
    public static Operation Of(MethodInfo method, object? target, CancellationToken stop)
    {
        Type result = method.ReturnType;
        (string maker, Type[] types) = result == typeof(void) ? (nameof(OfVoid), Type.EmptyTypes)
            : result == typeof(Task) ? (nameof(OfTask), [])
            : result == typeof(ValueTask) ? (nameof(OfValueTask), [])
            : Generic(result, typeof(Task<>)) is { } task ? (nameof(OfTaskResult), [task])
            : Generic(result, typeof(ValueTask<>)) is { } valueTask ? (nameof(OfValueTaskResult), [valueTask])
            : (nameof(OfResult), (Type[])[result]);
        MethodInfo make = typeof(MethodOperations).GetMethod(maker, BindingFlags.NonPublic | BindingFlags.Static)!;
        make = types.Length > 0 ? make.MakeGenericMethod(types) : make;
        return (Operation)make.Invoke(null, [new Bound(method, target), stop])!;
    }

    private static Operation OfVoid(Bound method, CancellationToken stop) =>
        method.TakesToken ? With(method.As<Action<CancellationToken>>(), c => Operation.Of(() => c(stop))) : Operation.Of(method.As<Action>());

    private static Operation OfResult<T>(Bound method, CancellationToken stop) =>
        method.TakesToken ? With(method.As<Func<CancellationToken, T>>(), c => Operation.Of(() => c(stop))) : Operation.Of(method.As<Func<T>>());

    private static Operation OfTask(Bound method, CancellationToken stop) =>
        method.TakesToken
            ? With(method.As<Func<CancellationToken, Task>>(), c => Operation.OfAsync(() => c(stop)))
            : Operation.OfAsync(method.As<Func<Task>>());

    private static Operation OfTaskResult<T>(Bound method, CancellationToken stop) =>
        method.TakesToken
            ? With(method.As<Func<CancellationToken, Task<T>>>(), c => Operation.OfAsync(() => c(stop)))
            : Operation.OfAsync(method.As<Func<Task<T>>>());

    private static Operation OfValueTask(Bound method, CancellationToken stop) =>
        method.TakesToken
            ? With(method.As<Func<CancellationToken, ValueTask>>(), c => Operation.OfAsync(() => c(stop)))
            : Operation.OfAsync(method.As<Func<ValueTask>>());

    private static Operation OfValueTaskResult<T>(Bound method, CancellationToken stop) =>
        method.TakesToken
            ? With(method.As<Func<CancellationToken, ValueTask<T>>>(), c => Operation.OfAsync(() => c(stop)))
            : Operation.OfAsync(method.As<Func<ValueTask<T>>>());

    private static Operation With<T>(T call, Func<T, Operation> make) => make(call);

    private static Type? Generic(Type type, Type definition) =>
        type.IsGenericType && type.GetGenericTypeDefinition() == definition ? type.GetGenericArguments()[0] : null;

    private sealed record Bound(MethodInfo Method, object? Target)
    {
        public bool TakesToken => Method.GetParameters().Length == 1;

        public T As<T>()
            where T : Delegate => Target is null ? Method.CreateDelegate<T>() : Method.CreateDelegate<T>(Target);
    }
}
