using System.Runtime.CompilerServices;

namespace Weir.Resilience;

/// <summary>Makes calls of other shapes ones that return a <see cref="ValueTask{TResult}"/>.</summary>
internal static class CallShape
{
    /// <summary>The argument, which must not be null.</summary>
    public static T Of<T>(T argument, [CallerArgumentExpression(nameof(argument))] string? name = null)
        where T : class
    {
        ArgumentNullException.ThrowIfNull(argument, name);
        return argument;
    }

    public static CallState<TCall, TState> Of<TCall, TState>(TCall call, TState state)
        where TCall : Delegate
    {
        ArgumentNullException.ThrowIfNull(call);
        return new CallState<TCall, TState>(call, state);
    }

    public static ValueTask<TResult> Of<TResult>(Task<TResult>? task) => new(task ?? throw NoTask());

    public static ValueTask<NoResult> Of(Task? task) => Of(new ValueTask(task ?? throw NoTask()));

    /// <summary>A call without a result as one that has one.</summary>
    public static ValueTask<NoResult> Of(ValueTask call)
    {
        if (!call.IsCompletedSuccessfully)
        {
            return WaitAsync(call);
        }

        call.GetAwaiter().GetResult();
        return default;
    }

    /// <summary>The way back.</summary>
    public static ValueTask Ended(ValueTask<NoResult> call)
    {
        if (!call.IsCompletedSuccessfully)
        {
            return WaitAsync(call);
        }

        _ = call.Result;
        return default;
    }

    /// <summary>What a call was given, which is not disposed of when the call returns it too late. Null for a value.</summary>
    public static object? GivenOf<TState>(TState state) => typeof(TState).IsValueType ? Given<TState>.Of?.Invoke(state) : state;

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<NoResult> WaitAsync(ValueTask call)
    {
        await call.ConfigureAwait(false);
        return default;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    private static async ValueTask WaitAsync(ValueTask<NoResult> call) => await call.ConfigureAwait(false);

    private static InvalidOperationException NoTask() => new("The call returned null in place of a task.");
}

/// <summary>How to find the user's state in a state of ours around it. A field and not an interface, because no state is boxed for it.</summary>
internal static class Given<TState>
{
    /// <summary>The user's state if it is an object; null where the state is the user's own.</summary>
    public static Func<TState, object?>? Of { get; set; }
}

/// <summary>The result of a call without a result.</summary>
internal readonly struct NoResult;

/// <summary>A call of another shape and its state, which go through a chain as one state.</summary>
internal readonly struct CallState<TCall, TState>(TCall call, TState state)
{
    static CallState() => Given<CallState<TCall, TState>>.Of = static s => CallShape.GivenOf(s.State);

    public TCall Call { get; } = call;

    public TState State { get; } = state;
}
