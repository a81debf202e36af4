using System.Reflection;

namespace Weir.Explore.Scheduling;

/// <summary>The tasks that failed in a schedule. Somebody has to look at their exceptions.</summary>
internal sealed class FailedTasks
{
    private const BindingFlags Private = BindingFlags.Instance | BindingFlags.NonPublic;
    private readonly List<Task> _tasks = [];

    public void Add(Task task) => _tasks.Add(task);

    public Failure? Unobserved()
    {
        if (_tasks.Find(static t => !IsObserved(t)) is not { } failed)
        {
            return null;
        }

        Exception error = failed.Exception!.InnerException!;
        return new Failure(FailureKind.UnobservedException, $"A task failed, and nobody has looked: {error.GetType().Name}: {error.Message}", error);
    }

    /// <summary>True if the platform does not say it.</summary>
    private static bool IsObserved(Task task)
    {
        object? properties = typeof(Task).GetField("m_contingentProperties", Private)?.GetValue(task);
        return Field(Field(properties, "m_exceptionsHolder"), "m_isHandled") is not false;
    }

    private static object? Field(object? owner, string name) => owner?.GetType().GetField(name, Private)?.GetValue(owner);
}
