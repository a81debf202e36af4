namespace Weir.Lab.Suites.Checking;

/// <summary>Marks an arm that promises no order, so that the check compares its results as a set.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class AnyOrderAttribute : Attribute;
