using System.Reflection;

namespace Weir.Lab.Suites.Checking;

/// <summary>One benchmark method of a suite, bound to an instance: one of the ways to do a case's work.</summary>
internal sealed class Arm
{
    private readonly Func<object> _invoke;

    public Arm(object suite, MethodInfo method)
    {
        Name = method.Name;
        IsBaseline = method.GetCustomAttribute<BenchmarkAttribute>()!.Baseline;
        IsAnyOrder = method.IsDefined(typeof(AnyOrderAttribute));
        Categories = string.Join(",", method.GetCustomAttribute<BenchmarkCategoryAttribute>()?.Categories ?? []);
        if (method.ReturnType.IsValueType || method.ReturnType == typeof(Task))
        {
            // Without a result there is nothing to compare, and a box would be counted as the arm's own allocation.
            throw new UnequalWorkException($"{method.DeclaringType!.Name}.{Name} must return its results: a collection, or a Task of them.");
        }

        _invoke = method.CreateDelegate<Func<object>>(suite);
    }

    public string Name { get; }

    /// <summary>The category within the suite; arms of one category do the same work. Empty where a suite has only one.</summary>
    public string Categories { get; }

    public bool IsBaseline { get; }

    public bool IsAnyOrder { get; }

    /// <summary>All arms of a suite, in the order of the source file.</summary>
    public static IReadOnlyList<Arm> Of(object suite) =>
    [
        .. suite.GetType()
            .GetMethods(BindingFlags.Public | BindingFlags.Instance)
            .Where(static method => method.IsDefined(typeof(BenchmarkAttribute)))
            .OrderBy(static method => method.MetadataToken)
            .Select(method => new Arm(suite, method)),
    ];

    /// <summary>Runs the arm once. Synchronous arms give a finished task, so that both kinds are awaited alike.</summary>
    public Task RunAsync() => _invoke() as Task ?? Task.CompletedTask;

    /// <summary>Runs the arm once and gives what it has returned.</summary>
    public async Task<object?> ResultAsync()
    {
        object returned = _invoke();
        if (returned is not Task task)
        {
            return returned;
        }

        await task;
        return task.GetType().GetProperty(nameof(Task<>.Result))!.GetValue(task);
    }
}
