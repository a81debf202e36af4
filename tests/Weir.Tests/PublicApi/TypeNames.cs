using System.Reflection;

namespace Weir.Tests.PublicApi;

/// <summary>Names of types as they stand in code.</summary>
internal static class TypeNames
{
    private static readonly Dictionary<Type, string> Keywords = new()
    {
        [typeof(void)] = "void",
        [typeof(bool)] = "bool",
        [typeof(byte)] = "byte",
        [typeof(char)] = "char",
        [typeof(int)] = "int",
        [typeof(long)] = "long",
        [typeof(uint)] = "uint",
        [typeof(ulong)] = "ulong",
        [typeof(float)] = "float",
        [typeof(double)] = "double",
        [typeof(decimal)] = "decimal",
        [typeof(string)] = "string",
        [typeof(object)] = "object",
    };

    public static string Of(NullabilityInfo info)
    {
        Type type = info.Type.IsByRef ? info.Type.GetElementType()! : info.Type;
        if (Nullable.GetUnderlyingType(type) is { } value)
        {
            return Of(value) + "?";
        }

        string name = type switch
        {
            { IsArray: true } => Of(info.ElementType!) + "[]",
            { IsGenericType: true } when type.Namespace == "System" && type.Name.StartsWith("ValueTuple`", StringComparison.Ordinal) =>
                $"({string.Join(", ", info.GenericTypeArguments.Select(Of))})",
            { IsGenericType: true } => $"{Simple(type)}<{string.Join(", ", info.GenericTypeArguments.Select(Of))}>",
            _ => Of(type),
        };
        bool nullable = !type.IsValueType && info.ReadState == NullabilityState.Nullable && (!type.IsGenericParameter || IsAnnotated(info));
        return nullable ? name + "?" : name;
    }

    public static string Of(Type type)
    {
        if (Keywords.TryGetValue(type, out string? keyword))
        {
            return keyword;
        }

        if (type.IsArray)
        {
            return Of(type.GetElementType()!) + "[]";
        }

        string name = type is { IsNested: true, IsGenericParameter: false } ? $"{Of(type.DeclaringType!)}.{Simple(type)}" : Simple(type);
        Type[] arguments = type.GetGenericArguments();
        return arguments.Length == 0 ? name : $"{name}<{string.Join(", ", arguments.Select(static a => Variance(a) + Of(a)))}>";
    }

    /// <summary>The name without type arguments.</summary>
    public static string Simple(Type type) => type.Name.Split('`')[0];

    public static string Constraints(Type[] parameters) => string.Concat(parameters.Select(static p =>
    {
        GenericParameterAttributes how = p.IsGenericParameter ? p.GenericParameterAttributes : GenericParameterAttributes.None;
        List<string> all = [];
        if (how.HasFlag(GenericParameterAttributes.NotNullableValueTypeConstraint))
        {
            all.Add("struct");
        }
        else if (how.HasFlag(GenericParameterAttributes.ReferenceTypeConstraint))
        {
            all.Add("class");
        }

        all.AddRange(p.IsGenericParameter ? p.GetGenericParameterConstraints().Where(static c => c != typeof(ValueType)).Select(Of) : []);
        return all.Count > 0 ? $" where {p.Name} : {string.Join(", ", all)}" : "";
    }));

    private static string Variance(Type argument) => !argument.IsGenericParameter
        ? ""
        : (argument.GenericParameterAttributes & GenericParameterAttributes.VarianceMask) switch
        {
            GenericParameterAttributes.Covariant => "out ",
            GenericParameterAttributes.Contravariant => "in ",
            _ => "",
        };

    // A type parameter without constraint reads as nullable, whether it is written with a question mark or not.
    private static bool IsAnnotated(NullabilityInfo info) => info.WriteState == NullabilityState.Nullable && info.ReadState != info.WriteState;
}
