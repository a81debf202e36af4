namespace Weir.Explore.Model;

/// <summary>
/// Continuations, and tasks, that would begin on the default scheduler. With a scheduler given, the platform's method is called: it calls the scheduler.
/// </summary>
[Replaces("System.Threading.Tasks.Task")]
[Replaces("System.Threading.Tasks.Task`1")]
[Replaces("System.Threading.Tasks.TaskFactory")]
internal static class Continuations
{
    public static Task ContinueWith(Task task, Action<Task> action) => task.ContinueWith(action, PoolScheduler.Instance);

    public static Task ContinueWith(Task task, Action<Task> action, CancellationToken token) =>
        task.ContinueWith(action, token, default, PoolScheduler.Instance);

    public static Task ContinueWith(Task task, Action<Task> action, TaskContinuationOptions options) =>
        task.ContinueWith(action, default, options, PoolScheduler.Instance);

    public static Task ContinueWith(Task task, Action<Task, object?> action, object? state) => task.ContinueWith(action, state, PoolScheduler.Instance);

    public static Task ContinueWith(Task task, Action<Task, object?> action, object? state, TaskContinuationOptions options) =>
        task.ContinueWith(action, state, default, options, PoolScheduler.Instance);

    public static Task<TNew> ContinueWith<TNew>(Task task, Func<Task, TNew> function) => task.ContinueWith(function, PoolScheduler.Instance);

    public static Task<TNew> ContinueWith<TNew>(Task task, Func<Task, TNew> function, TaskContinuationOptions options) =>
        task.ContinueWith(function, default, options, PoolScheduler.Instance);

    public static Task ContinueWith<T>(Task<T> task, Action<Task<T>> action) => task.ContinueWith(action, PoolScheduler.Instance);

    public static Task ContinueWith<T>(Task<T> task, Action<Task<T>> action, TaskContinuationOptions options) =>
        task.ContinueWith(action, default, options, PoolScheduler.Instance);

    public static Task<TNew> ContinueWith<T, TNew>(Task<T> task, Func<Task<T>, TNew> function) => task.ContinueWith(function, PoolScheduler.Instance);

    public static Task<TNew> ContinueWith<T, TNew>(Task<T> task, Func<Task<T>, TNew> function, TaskContinuationOptions options) =>
        task.ContinueWith(function, default, options, PoolScheduler.Instance);

    public static Task StartNew(TaskFactory factory, Action action) => StartNew(factory, action, default, default(TaskCreationOptions));

    public static Task StartNew(TaskFactory factory, Action action, CancellationToken token) => StartNew(factory, action, token, default(TaskCreationOptions));

    public static Task StartNew(TaskFactory factory, Action action, TaskCreationOptions options) => StartNew(factory, action, default, options);

    public static Task StartNew(TaskFactory factory, Action<object?> action, object? state) =>
        factory.StartNew(action, state, default, default, PoolScheduler.Instance);

    public static Task<T> StartNew<T>(TaskFactory factory, Func<T> function) => factory.StartNew(function, default, default, PoolScheduler.Instance);

    public static Task<T> StartNew<T>(TaskFactory factory, Func<T> function, CancellationToken token) =>
        factory.StartNew(function, token, default, PoolScheduler.Instance);

    public static Task<T> StartNew<T>(TaskFactory factory, Func<T> function, TaskCreationOptions options) =>
        factory.StartNew(function, default, options, PoolScheduler.Instance);

    private static Task StartNew(TaskFactory factory, Action action, CancellationToken token, TaskCreationOptions options) =>
        factory.StartNew(action, token, options, PoolScheduler.Instance);
}
