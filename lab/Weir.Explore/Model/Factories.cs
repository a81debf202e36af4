namespace Weir.Explore.Model;

/// <summary>Tasks that would begin on the default scheduler. With a scheduler given, the platform's method is called: it calls the scheduler.</summary>
[Replaces("System.Threading.Tasks.TaskFactory")]
internal static class Factories
{
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
