using Weir.Explore.Model;

namespace Weir.Explore.Rewriting;

/// <summary>Which methods and types of the model take the place of those of the platform.</summary>
internal sealed class ReplacementTable
{
    private readonly Dictionary<string, MethodDefinition> _methods = [];
    private readonly Dictionary<string, TypeDefinition> _types = [];

    public ReplacementTable(ModuleDefinition model)
    {
        foreach (TypeDefinition type in model.Types)
        {
            foreach (CustomAttribute attribute in type.CustomAttributes.Where(static a => a.AttributeType.Name == nameof(ReplacesAttribute)))
            {
                string name = (string)attribute.ConstructorArguments[0].Value;
                if (!(type.IsAbstract && type.IsSealed))
                {
                    _types.Add(name, type);
                    continue;
                }

                foreach (MethodDefinition method in type.Methods.Where(static m => m.IsPublic && m.IsStatic))
                {
                    _methods[Key(name, method.Name, method.GenericParameters.Count, Parameters(method.Parameters, name))] = method;
                }
            }
        }
    }

    public TypeDefinition? TypeFor(string name) => _types.GetValueOrDefault(name);

    /// <summary>The method that is called in place of <paramref name="called"/>, or null.</summary>
    public MethodDefinition? MethodFor(MethodReference called, bool isNew)
    {
        TypeReference type = called.DeclaringType.GetElementType();
        int ofType = called.DeclaringType is GenericInstanceType instance ? instance.GenericArguments.Count : 0;
        int generic = ofType + (called is GenericInstanceMethod g ? g.GenericArguments.Count : called.GenericParameters.Count);
        string self = called.HasThis && !isNew ? "@," : "";
        string parameters = Parameters(called.Parameters, called.HasThis || isNew ? null : type.FullName, ofType);
        return _methods.GetValueOrDefault(Key(type.FullName, isNew ? "New" : called.Name, generic, self + parameters));
    }

    /// <summary>Whether a substituted type has the member that is called.</summary>
    public bool HasMember(TypeDefinition type, MethodReference called)
    {
        string wanted = Parameters(called.Parameters);
        return type.Methods.Any(m => m.Name == called.Name && Parameters(m.Parameters) == wanted);
    }

    private static string Key(string type, string name, int generic, string parameters) => $"{type}::{name}`{generic}({parameters}";

    /// <summary>Types of parameters. An instance method of the platform has its object as the first one in the model.</summary>
    private static string Parameters(IEnumerable<ParameterDefinition> parameters, string? type = null, int ofType = 0) => string.Concat(parameters.Select(
        (p, i) => i == 0 && type is not null && IsThis(p.ParameterType, type) ? "@," : $"{Name(p.ParameterType, ofType)},"));

    private static bool IsThis(TypeReference parameter, string type)
    {
        TypeReference element = parameter is ByReferenceType reference ? reference.ElementType : parameter;
        return element.GetElementType().FullName == type;
    }

    /// <summary>A type with generic parameters by number: first those of the declaring type, then those of the method.</summary>
    private static string Name(TypeReference type, int ofType) => type switch
    {
        GenericParameter parameter => $"!{parameter.Position + (parameter.Type == GenericParameterType.Method ? ofType : 0)}",
        GenericInstanceType instance => $"{instance.ElementType.FullName}<{string.Concat(instance.GenericArguments.Select(a => $"{Name(a, ofType)},"))}>",
        RequiredModifierType modified => Name(modified.ElementType, ofType),
        ArrayType array => $"{Name(array.ElementType, ofType)}[]",
        ByReferenceType reference => $"{Name(reference.ElementType, ofType)}&",
        _ => type.FullName,
    };
}
