using System.Reflection;

namespace Weir.Explore.Scheduling;

/// <summary>What the platform knows of the exceptions of tasks.</summary>
internal static class TaskErrors
{
    private const BindingFlags Private = BindingFlags.Instance | BindingFlags.NonPublic;

    /// <summary>Whether somebody has looked at a task's exception. True if the platform does not say it.</summary>
    public static bool IsObserved(Task task) =>
        Field(Field(Field(task, typeof(Task), "m_contingentProperties"), null, "m_exceptionsHolder"), null, "m_isHandled") is not false;

    private static object? Field(object? owner, Type? type, string name) => owner is null ? null : (type ?? owner.GetType()).GetField(name, Private)?.GetValue(owner);
}
