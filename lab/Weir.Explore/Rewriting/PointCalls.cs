using Weir.Explore.Model;

namespace Weir.Explore.Rewriting;

/// <summary>The methods that rewritten code calls beside the replacements.</summary>
internal sealed class PointCalls(ModuleDefinition module)
{
    private readonly Dictionary<(Type, string), MethodReference> _known = [];

    public MethodReference NewAction { get; } = module.ImportReference(typeof(Action).GetConstructors()[0]);

    /// <summary>A method of <see cref="Points"/>.</summary>
    public MethodReference this[string name] => Of(typeof(Points), name);

    /// <summary>A generic method of one parameter.</summary>
    public MethodReference Closed(Type type, string name, TypeReference argument) => new GenericInstanceMethod(Of(type, name)) { GenericArguments = { argument } };

    public MethodReference Of(Type type, string name) =>
        _known.TryGetValue((type, name), out MethodReference? known) ? known : _known[(type, name)] = module.ImportReference(type.GetMethod(name));
}
