namespace Weir.Lab.Workers;

/// <summary>Starts an operation without a result. A struct, so that the loop is compiled for it.</summary>
internal interface IAsyncCall
{
    ValueTask StartAsync();

    Operation Empty();
}

/// <summary>Starts an operation with a result.</summary>
internal interface IAsyncCall<T>
{
    ValueTask<T> StartAsync();

    /// <summary>Takes what the operation came to. What it throws is the operation's failure.</summary>
    void Take(T result);

    Operation Empty();
}

internal readonly struct TaskCall(Func<Task> call) : IAsyncCall
{
    public ValueTask StartAsync() => new(call());

    public Operation Empty() => Operation.OfAsync(static () => Task.CompletedTask);
}

internal readonly struct ValueTaskCall(Func<ValueTask> call) : IAsyncCall
{
    public ValueTask StartAsync() => call();

    public Operation Empty() => Operation.OfAsync(static () => default(ValueTask));
}

internal readonly struct TaskCall<T>(Func<Task<T>> call) : IAsyncCall<T>
{
    public ValueTask<T> StartAsync() => new(call());

    public void Take(T result) => Sink.Consume(result);

    public Operation Empty()
    {
        Task<T> done = Task.FromResult<T>(default!);
        return Operation.OfAsync(() => done);
    }
}

internal readonly struct ValueTaskCall<T>(Func<ValueTask<T>> call) : IAsyncCall<T>
{
    public ValueTask<T> StartAsync() => call();

    public void Take(T result) => Sink.Consume(result);

    public Operation Empty() => Operation.OfAsync(static () => default(ValueTask<T>));
}
