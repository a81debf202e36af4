namespace Weir.TestKit;

/// <summary>Runs code on a thread of its own that carries a synchronization context, as a user interface's thread does, and says who else got there.</summary>
public sealed class ThreadContext : SynchronizationContext
{
    private int _posts;

    /// <summary>How often something was posted to the context.</summary>
    public int Posts => Volatile.Read(ref _posts);

    public override void Post(SendOrPostCallback d, object? state)
    {
        Interlocked.Increment(ref _posts);
        base.Post(d, state);
    }

    public override void Send(SendOrPostCallback d, object? state)
    {
        Interlocked.Increment(ref _posts);
        base.Send(d, state);
    }

    /// <summary>Starts work on a new thread that is not of the pool, and keeps that thread until the work has ended.</summary>
    /// <param name="start">Starts the work.</param>
    /// <param name="context">The context that the thread carries, or null.</param>
    /// <returns>The result of the work and the thread's number, which no other thread had meanwhile.</returns>
    public static async Task<(T Result, int Thread)> RunAsync<T>(Func<Task<T>> start, SynchronizationContext? context = null)
    {
        TaskCompletionSource<(T, int)> done = new(TaskCreationOptions.RunContinuationsAsynchronously);
        Thread thread = new(() =>
        {
            SetSynchronizationContext(context);
            try
            {
                done.SetResult((start().GetAwaiter().GetResult(), Environment.CurrentManagedThreadId));
            }
            catch (Exception e)
            {
                done.SetException(e);
            }
        })
        {
            IsBackground = true,
        };
        thread.Start();
        return await done.Task.WithinAsync("the work of the thread");
    }
}
