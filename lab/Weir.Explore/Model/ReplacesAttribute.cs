namespace Weir.Explore.Model;

/// <summary>
/// The static methods of the class take the place of the members of <paramref name="type"/> with the same name; <c>New</c> that of its constructors.
/// </summary>
[AttributeUsage(AttributeTargets.Class, AllowMultiple = true)]
internal sealed class ReplacesAttribute(string type) : Attribute
{
    public string Type { get; } = type;
}
