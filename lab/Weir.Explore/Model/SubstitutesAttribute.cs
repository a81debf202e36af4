namespace Weir.Explore.Model;

/// <summary>The type takes the place of <paramref name="type"/> in rewritten code.</summary>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Struct)]
internal sealed class SubstitutesAttribute(string type) : Attribute
{
    public string Type { get; } = type;
}
