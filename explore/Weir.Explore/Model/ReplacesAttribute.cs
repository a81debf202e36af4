namespace Weir.Explore.Model;

/// <summary>
/// The methods of a static class take the place of the members of <paramref name="type"/> with the same name; <c>New</c> that of its constructors. Any other
/// class takes the place of the type itself.
/// </summary>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Struct, AllowMultiple = true)]
internal sealed class ReplacesAttribute(string type) : Attribute
{
    public string Type { get; } = type;
}
