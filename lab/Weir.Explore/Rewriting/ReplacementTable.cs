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
                    _methods[Key(name, method.Name, method.GenericParameters.Count, method.Parameters)] = method;
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
        StringBuilder text = new();
        text.Append(type.FullName).Append("::").Append(isNew ? "New" : called.Name).Append('`').Append(generic).Append('(');
        if (called.HasThis && !isNew)
        {
            text.Append("@,");
        }

        WriteAll(text, called.Parameters, called.HasThis || isNew ? null : type.FullName, ofType);
        return _methods.GetValueOrDefault(text.ToString());
    }

    /// <summary>Whether a substituted type has the member that is called.</summary>
    public bool HasMember(TypeDefinition type, MethodReference called)
    {
        string wanted = Parameters(called.Parameters);
        return type.Methods.Any(m => m.Name == called.Name && Parameters(m.Parameters) == wanted);
    }

    /// <summary>The key of a method of the model. An instance method of the platform has its object as the first parameter there.</summary>
    private static string Key(string type, string name, int generic, IList<ParameterDefinition> parameters)
    {
        StringBuilder text = new();
        text.Append(type).Append("::").Append(name).Append('`').Append(generic).Append('(');
        WriteAll(text, parameters, type, 0);
        return text.ToString();
    }

    private static bool IsThis(TypeReference parameter, string type)
    {
        TypeReference element = parameter is ByReferenceType reference ? reference.ElementType : parameter;
        return element.GetElementType().FullName == type;
    }

    private static string Parameters(IList<ParameterDefinition> parameters)
    {
        StringBuilder text = new();
        WriteAll(text, parameters, null, 0);
        return text.ToString();
    }

    private static void WriteAll(StringBuilder text, IList<ParameterDefinition> parameters, string? type, int ofType)
    {
        for (int i = 0; i < parameters.Count; i++)
        {
            if (i == 0 && type is not null && IsThis(parameters[0].ParameterType, type))
            {
                text.Append('@');
            }
            else
            {
                Write(text, parameters[i].ParameterType, ofType);
            }

            text.Append(',');
        }
    }

    /// <summary>A type with generic parameters by number: first those of the declaring type, then those of the method.</summary>
    private static void Write(StringBuilder text, TypeReference type, int ofType)
    {
        switch (type)
        {
            case GenericParameter parameter:
                text.Append('!').Append(parameter.Position + (parameter.Type == GenericParameterType.Method ? ofType : 0));
                break;
            case GenericInstanceType instance:
                text.Append(instance.ElementType.FullName).Append('<');
                foreach (TypeReference argument in instance.GenericArguments)
                {
                    Write(text, argument, ofType);
                    text.Append(',');
                }

                text.Append('>');
                break;
            case RequiredModifierType modified:
                Write(text, modified.ElementType, ofType);
                break;
            case ArrayType array:
                Write(text, array.ElementType, ofType);
                text.Append("[]");
                break;
            case ByReferenceType reference:
                Write(text, reference.ElementType, ofType);
                text.Append('&');
                break;
            default:
                text.Append(type.FullName);
                break;
        }
    }
}
